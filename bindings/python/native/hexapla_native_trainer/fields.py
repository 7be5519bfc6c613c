"""Typed, named members of a JSON object. Separate so that every request, specification and file is refused
in the same way: the key, what it is, what it must be; missing and unknown keys alike.
"""

from __future__ import annotations

from typing import Any

from hexapla_native_trainer.refusal import Refusal

INTEGER_MAX = 2**53


class Fields:
    """The members of one object; each is taken once, and `end` refuses what is left."""

    def __init__(self, value: Any, status: str, where: str = "") -> None:
        if not isinstance(value, dict):
            raise Refusal(status, f"{where or 'it'} must be an object", where)
        self._left = dict(value)
        self._status = status
        self._prefix = f"{where}." if where else ""

    def refuse(self, key: str, message: str) -> Refusal:
        where = f"{self._prefix}{key}"
        return Refusal(self._status, f"{where}: {message}", where)

    def take(self, key: str) -> Any:
        if key not in self._left:
            raise self.refuse(key, "missing")
        return self._left.pop(key)

    def has(self, key: str) -> bool:
        return key in self._left

    def string(self, key: str) -> str:
        value = self.take(key)
        if not isinstance(value, str):
            raise self.refuse(key, f"is {value!r:.80}, must be a string")
        return value

    def string_or_null(self, key: str) -> str | None:
        value = self.take(key)
        if value is not None and not isinstance(value, str):
            raise self.refuse(key, f"is {value!r:.80}, must be a string or null")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.string(key)
        if value not in choices:
            raise self.refuse(key, f"is {value!r:.80}, must be one of {', '.join(choices)}")
        return value

    def boolean(self, key: str) -> bool:
        value = self.take(key)
        if not isinstance(value, bool):
            raise self.refuse(key, f"is {value!r:.80}, must be true or false")
        return value

    def integer(self, key: str, least: int = 0, most: int = INTEGER_MAX - 1) -> int:
        value = self.take(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.refuse(key, f"is {value!r:.80}, must be an integer from {least} to {most}")
        return value

    def number(self, key: str) -> float:
        value = self.take(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.refuse(key, f"is {value!r:.80}, must be a number")
        return float(value)

    def integers(self, key: str, least: int = 0, most: int = 2**31 - 1) -> list[int]:
        value = self.take(key)
        good = isinstance(value, list) and all(
            isinstance(each, int) and not isinstance(each, bool) and least <= each <= most for each in value
        )
        if not good:
            raise self.refuse(key, f"must be a list of integers from {least} to {most}")
        return list(value)

    def strings(self, key: str) -> list[str]:
        value = self.take(key)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.refuse(key, "must be a list of strings")
        return list(value)

    def end(self) -> None:
        for key in self._left:
            raise self.refuse(key, "unknown key")
