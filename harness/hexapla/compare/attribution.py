"""Which axis a disagreement lies on, from who disagrees with whom.

Separate because it looks at all pairs at once and never at a number: its input is who agreed. It follows
FAULTS' "Axis attribution" and says *ambiguous* rather than guess. It must not be read as a proof: when
everything agrees, that is evidence for the tested configuration only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

CORE = "core"


class Axis(StrEnum):
    """Where the fault lies; `NONE` when nothing disagreed."""

    NONE = "none"
    STACK = "stack"
    ORCHESTRATION_OR_RUNTIME = "orchestration or runtime"
    RUNTIME = "runtime"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True)
class Agreement:
    """One compared pair; `agree` is None where the comparison said nothing (skipped, unknown)."""

    a: str
    b: str
    agree: bool | None


@dataclass(frozen=True)
class Attribution:
    """The axis, the implementations it points at (none when it points at nobody), and the sentence."""

    axis: Axis
    implementations: tuple[str, ...]
    words: str


def attribute(
    stacks: Mapping[str, str], pairs: Iterable[Agreement], modes: Mapping[str, bool | None] | None = None
) -> Attribution:
    """Name the axis.

    stacks: implementation → stack as its manifest says (`core`, `torch`, `numpy`, …). modes: implementation →
    did its runs under two schedulers, or two release modes, agree (None: not observed).
    """
    moved = tuple(sorted(name for name, agree in (modes or {}).items() if agree is False))
    if moved:
        words = f"{_list(moved)} parts from itself under another scheduler or release mode: runtime"
        return Attribution(Axis.RUNTIME, moved, words)
    graph = _Graph(stacks, pairs)
    if not graph.parted:
        return _agreement(graph)
    return (
        graph.odd_trainer() or graph.core_against_references() or graph.odd_reference() or _ambiguous(graph)
    )


class _Graph:
    """Who was compared with whom, and who parted."""

    def __init__(self, stacks: Mapping[str, str], pairs: Iterable[Agreement]) -> None:
        self._known: dict[frozenset[str], bool] = {}
        self.silent = 0
        for pair in pairs:
            if pair.agree is None:
                self.silent += 1
            else:
                key = frozenset({pair.a, pair.b})
                self._known[key] = self._known.get(key, True) and pair.agree
        names = sorted({name for key in self._known for name in key})
        self.core = [name for name in names if stacks.get(name) == CORE]
        self.others = [name for name in names if stacks.get(name) != CORE]
        self.parted = sorted(tuple(sorted(key)) for key, agree in self._known.items() if not agree)
        self.agreed = sum(self._known.values())

    def agree(self, one: str, other: str) -> bool | None:
        return self._known.get(frozenset({one, other}))

    def all_agree(self, group: list[str]) -> bool:
        """Nobody in the group parted from another, and all are tied together by agreements."""
        joined, waiting = set(group[:1]), list(group[:1])
        while waiting:
            one = waiting.pop()
            new = [name for name in group if name not in joined and self.agree(one, name)]
            joined.update(new)
            waiting.extend(new)
        parted = any(self.agree(one, other) is False for one in group for other in group)
        return joined == set(group) and not parted

    def against(self, group: list[str], name: str, agree: bool) -> bool:
        """Somebody of the group was compared with `name`, and everyone who was says `agree`."""
        seen = [each for each in (self.agree(one, name) for one in group) if each is not None]
        return bool(seen) and all(each is agree for each in seen)

    def odd_trainer(self) -> Attribution | None:
        """One trainer parts from its siblings on the same core, and the siblings stand together."""
        odd = []
        for name in self.core:
            rest = [each for each in self.core if each != name]
            third = len(rest) > 1 or any(self.against(rest, each, True) for each in self.others)
            if third and self.all_agree(rest) and self.against(rest, name, False):
                odd.append(name)
        if len(odd) != 1:
            return None
        rest = [each for each in self.core if each != odd[0]]
        if any(self.against(rest, each, False) for each in self.others):
            return None
        words = f"{odd[0]} parts from its siblings on the same core ({_list(rest)}): orchestration or runtime"
        return Attribution(Axis.ORCHESTRATION_OR_RUNTIME, (odd[0],), words)

    def core_against_references(self) -> Attribution | None:
        """All core-driven trainers stand together against torch and the oracle."""
        if len(self.core) < 2 or len(self.others) < 2 or not self.all_agree(self.core):
            return None
        if not all(self.against(self.core, each, False) for each in self.others):
            return None
        if not self.all_agree(self.others):
            return None
        words = f"all core-driven trainers ({_list(self.core)}) part from {_list(self.others)}: stack"
        return Attribution(Axis.STACK, tuple(self.core), words)

    def odd_reference(self) -> Attribution | None:
        """One reference parts from everyone else, who stand together. Its arithmetic and its orchestration
        are both its own, so which of the two cannot be told. Siblings on one core have one vote: a fault of
        their core must not outvote the only reference."""
        if len(self.others) < 2:
            return None
        for name in self.others:
            rest = [each for each in self.core + self.others if each != name]
            if self.core and len(rest) > 1 and self.all_agree(rest) and self.against(rest, name, False):
                words = (
                    f"{name} parts from {_list(rest)}, who agree: ambiguous, its stack or its orchestration "
                    "(both are its own)"
                )
                return Attribution(Axis.AMBIGUOUS, (name,), words)
        return None


def _agreement(graph: _Graph) -> Attribution:
    if not graph.agreed:
        return Attribution(Axis.NONE, (), "nothing was compared, so nothing is known")
    words = "everything compared agrees: evidence for the tested configuration only"
    if graph.silent:
        words += f" ({graph.silent} pairs said nothing)"
    return Attribution(Axis.NONE, (), words)


def _ambiguous(graph: _Graph) -> Attribution:
    pairs = [f"{one} and {other}" for one, other in graph.parted]
    return Attribution(Axis.AMBIGUOUS, (), f"ambiguous: {_list(pairs)} part, which fits more than one axis")


def _list(names: Iterable[str]) -> str:
    each = list(names)
    return each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
