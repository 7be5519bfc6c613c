"""Version numbers as compilers print them, and the requirement of a manifest.

Separate because two files compare versions and neither should have its own idea of "1.9 < 1.24".
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import Any

_OPERATORS = {">=": operator.ge, "==": operator.eq, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_REQUIREMENT = re.compile(r"(>=|<=|==|>|<)\s*(\d+(?:\.\d+)*)")
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Version:
    """Up to three numbers; what is not printed counts as 0."""

    numbers: tuple[int, int, int]

    @classmethod
    def find(cls, text: str) -> Version | None:
        """The first version in a text, None where there is none."""
        match = _VERSION.search(text)
        if match is None:
            return None
        major, minor, patch = (int(part or 0) for part in match.groups())
        return cls((major, minor, patch))

    def __str__(self) -> str:
        return ".".join(str(number) for number in self.numbers)


@dataclass(frozen=True, slots=True)
class Requirement:
    """Comma-separated comparisons, all of which must hold: ">=1.24", ">=3.11, <4"."""

    text: str
    parts: tuple[tuple[str, Version], ...]

    @classmethod
    def parse(cls, text: Any) -> Requirement:
        """Raises ValueError with a line that says what is wrong."""
        if not isinstance(text, str):
            raise ValueError(f'is {text!r}, must be a string like ">=1.24"')
        parts = []
        for part in text.split(","):
            match = _REQUIREMENT.fullmatch(part.strip())
            version = Version.find(match.group(2)) if match else None
            if match is None or version is None:
                raise ValueError(f'is {text!r}, must be comparisons like ">=1.24"')
            parts.append((match.group(1), version))
        return cls(text, tuple(parts))

    def holds(self, version: Version) -> bool:
        return all(_OPERATORS[sign](version.numbers, wanted.numbers) for sign, wanted in self.parts)
