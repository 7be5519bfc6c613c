"""What a failing call of core raises. Separate because the compiled module makes these by name, and knows
nothing else of this package.
"""

from __future__ import annotations


class Error(RuntimeError):
    """A call of core that failed.

    `status` is the name of core's status ("HXP_INVALID_ARGUMENT"), `message` its text, byte for byte. What a
    pressure hook raised during the call is the `__cause__`.
    """

    def __init__(self, status: str, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class OutOfMemoryError(Error, MemoryError):
    """HXP_OUT_OF_MEMORY: the limit or the device is full, also after the pressure hook.

    The context stays usable.
    """


def error_of(status: str, message: str) -> Error:
    """The error of a status."""
    return (OutOfMemoryError if status == "HXP_OUT_OF_MEMORY" else Error)(status, message)
