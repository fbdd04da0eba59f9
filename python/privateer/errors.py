"""Exceptions, with the program's own messages: place, caret, expectation and hint."""

import difflib
from collections.abc import Sequence


class PrivateerError(Exception):
    """Base of all exceptions of this package."""


class SpecError(PrivateerError, ValueError):
    """The spec or the arguments are wrong; nothing was run."""


class UnknownNameError(PrivateerError, KeyError):
    """Results have no cell or column of this name."""

    def __init__(self, kind: str, name: object, known: Sequence[str]) -> None:
        super().__init__(kind, name, known)
        self.kind = kind
        """`cell` or `column`."""
        self.name = name
        """What was asked for."""
        self.known = list(known)
        """What there is."""

    def __str__(self) -> str:
        near = difflib.get_close_matches(self.name, self.known, n=1) if isinstance(self.name, str) else []
        hint = f"\nhint: did you mean {near[0]!r}?" if near else ""
        return f"there is no {self.kind} {self.name!r}\nexpected one of {', '.join(map(repr, self.known))}{hint}"


class DataError(PrivateerError, ValueError):
    """The data that a spec names is missing or wrong, or does not fit the spec."""


class FolderError(PrivateerError, OSError):
    """A results folder or a file cannot be used."""

    def __str__(self) -> str:
        return str(self.args[0])


class InUseError(FolderError):
    """Another program holds a results folder or a file; the same call may succeed later."""


class DeviceError(PrivateerError, RuntimeError):
    """No device of the requested kind exists, or it failed."""


class CheckError(PrivateerError):
    """A claim does not hold."""


class BudgetError(CheckError):
    """An answer would exceed the budget of a record, or is about one who has left; nothing was released."""

    record: str
    """The record: its row, or its id."""
    spent: str
    """What it has spent, in words."""
    budget: str
    """Its budget, in words."""


class RunError(PrivateerError, RuntimeError):
    """A run could not go on; finished parts are in its folder."""


class PolicyError(RunError):
    """Code of the user failed in a run; its own exception is the `__cause__`."""
