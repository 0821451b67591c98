"""fairroc.errors: a warning points at the caller's own line, whatever the folder of the caller is called."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import fairroc.errors
from fairroc.errors import FairrocWarning, warn_user


def test_a_warning_points_at_the_code_outside_the_package() -> None:
    with pytest.warns(FairrocWarning, match="look here") as seen:
        warn_user("look here")
    assert [warning.filename for warning in seen] == [__file__]


def test_a_neighbour_with_a_longer_name_is_no_part_of_the_package() -> None:
    """A folder such as ``fairroc_studies`` begins with the package's own path, but is the caller's code."""
    home = Path(fairroc.errors.__file__).parent
    theirs = f"{home}_studies/caller.py"
    code = compile("from fairroc.errors import warn_user\ndef speak():\n    warn_user('hello')\n", theirs, "exec")
    names: dict = {}
    exec(code, names)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        names["speak"]()
    assert [warning.filename for warning in seen] == [theirs]
