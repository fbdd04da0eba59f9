"""Exceptions, with the program's own messages: place, caret, expectation and hint."""


class PrivateerError(Exception):
    """Base of all exceptions of this package."""


class SpecError(PrivateerError, ValueError):
    """The spec or the arguments are wrong; nothing was run."""


class DataError(PrivateerError, ValueError):
    """The data that a spec names is missing or wrong, or does not fit the spec."""


class FolderError(PrivateerError, OSError):
    """A results folder or a file cannot be used."""

    def __str__(self) -> str:
        return str(self.args[0])


class DeviceError(PrivateerError, RuntimeError):
    """No device of the requested kind exists, or it failed."""


class CheckError(PrivateerError):
    """A claim does not hold."""

    printed: str = ""
    """What the command had printed by then."""


class RunError(PrivateerError, RuntimeError):
    """A run could not go on; finished parts are in its folder."""


class PolicyError(RunError):
    """Code of the user failed in a run; its own exception is the `__cause__`."""
