"""What holds arrays of the core is a fact: none of them can be written to, by whoever has it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from fairroc.core.chain import Chain
from fairroc.core.constraint import Rates
from fairroc.core.coupling import Levels
from fairroc.core.kernel import Kernel
from fairroc.core.realised import RealisedRoc
from fairroc.core.roc import RocCurve
from fairroc.core.scale import Scale


@pytest.mark.parametrize("kind", [Chain, Rates, Levels, Kernel, RealisedRoc, RocCurve, Scale])
def test_every_array_is_read_only(kind):
    names = [field.name for field in fields(kind) if "Array" in str(field.type)]
    others = {field.name: 0.5 for field in fields(kind) if field.name not in names}
    made = kind(**{name: np.arange(2.0) for name in names}, **others)
    assert len(names) > 1
    for name in names:
        with pytest.raises(ValueError, match="read-only"):
            getattr(made, name)[0] = 1.0
