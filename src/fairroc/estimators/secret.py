"""A constructor parameter whose value is kept, compared and copied as it is given, but never shown."""

from __future__ import annotations

from typing import Any

__all__ = ["HiddenBytes", "HiddenText", "SecretParameter"]

SHOWN = "'(hidden)'"


class HiddenText(str):
    """Text that does not show itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return SHOWN


class HiddenBytes(bytes):
    """Bytes that do not show themselves."""

    __slots__ = ()

    def __repr__(self) -> str:
        return SHOWN


class SecretParameter:
    """Class attribute for such a parameter: whatever way the value is set, what shows it shows "(hidden)".

    A model inside a pipeline or a search is shown by the outer object, from the values of its parameters; so the value
    itself has to keep the secret. Values that are neither text nor bytes stay as they are.

    >>> class Model:
    ...     key = SecretParameter()
    >>> model = Model()
    >>> model.key = "a secret"
    >>> model.key == "a secret", model.key
    (True, '(hidden)')
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        try:
            return vars(instance)[self.name]
        except KeyError:
            raise AttributeError(f"'{type(instance).__name__}' object has no attribute '{self.name}'") from None

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = _hidden(value)


def _hidden(value: Any) -> Any:
    """The value under a type that hides it; a value that is hidden already stays the same object."""
    if type(value) is str:
        return HiddenText(value)
    return HiddenBytes(value) if type(value) is bytes else value
