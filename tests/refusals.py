"""What must be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairroc.errors import DataError


def refuses(words: str, call: Callable[..., Any], *given: Any, **named: Any) -> None:
    """The call raises a ``DataError`` in whose text the pattern is found."""
    with pytest.raises(DataError, match=words):
        call(*given, **named)
