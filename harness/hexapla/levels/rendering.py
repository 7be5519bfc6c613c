"""Level `rendering`: does the model see the same text? Token ids and label flags, exact.

Separate because it is the cheap check before an expensive run. It holds no tokenizer of its own to
render with (that would be one more implementation to trust): implementations are held against each
other, and `tokenizers` only turns ids back into text for the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tokenizers import Tokenizer

from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.session import Session
from hexapla.levels.settle import PairVerdict, pairs_of, settle
from hexapla.protocol import Record

_CONTEXT_IDS = 8


@dataclass(frozen=True, slots=True)
class Rendered:
    """One file as an implementation rendered it."""

    records: list[Record]
    rejected: Mapping[str, int]
    markers: int


class Rendering(Level[dict[str, Rendered]]):
    name: ClassVar[str] = "rendering"
    stands_on: ClassVar[tuple[str, ...]] = ("abi",)

    def observe(self, session: Session, inputs: Inputs) -> dict[str, Rendered]:
        return {
            name: render(session, inputs, name, path, inputs.render_length)
            for name, path in inputs.render_files.items()
        }

    def judge(
        self, observed: Mapping[str, dict[str, Rendered]], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        show = _Show(inputs.tokenizer)
        pairs = []
        for a, b in pairs_of(list(observed)):
            difference, count, records = _difference(observed[a], observed[b], show)
            figures = {"records_compared": records, "records_different": count}
            reason = f"{a} renders otherwise than {b}: {difference}" if difference else ""
            pairs.append(PairVerdict(a, b, not difference, reason, figures))
        return settle(list(observed), stacks, pairs)


def render(session: Session, inputs: Inputs, name: str, path: Path, length: int) -> Rendered:
    """Have one file rendered at `length` tokens."""
    answer = session.ask(
        "render",
        f"render-{name}",
        tokenizer=str(inputs.tokenizer),
        records=str(path),
        template=inputs.spec["template"],
        length=length,
    )
    values = answer.end.values if hasattr(answer.end, "values") else {}
    records = [event for event in answer.events if isinstance(event, Record)]
    return Rendered(records, values["rejected"], values["markers"])


class _Show:
    """Ids as text, for messages only."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tokenizer.json"
        self._tokenizer: Tokenizer | None = None

    def text(self, ids: list[int]) -> str:
        if self._tokenizer is None:
            self._tokenizer = Tokenizer.from_file(str(self._path))
        return repr(self._tokenizer.decode(ids, skip_special_tokens=False))


def _difference(a: dict[str, Rendered], b: dict[str, Rendered], show: _Show) -> tuple[str, int, int]:
    """The first difference in words ("" for none), records that differ, records compared."""
    first, count, compared = "", 0, 0
    for name, one in a.items():
        other = b[name]
        compared += max(len(one.records), len(other.records))
        count += abs(len(one.records) - len(other.records))
        for left, right in zip(one.records, other.records, strict=False):
            words = _record_difference(left, right, show)
            if words:
                count += 1
                first = first or f"{name}, record {left.record}: {words}"
        if len(one.records) != len(other.records):
            first = first or f"{name}: {len(one.records)} records, not {len(other.records)}"
        for what, left_value, right_value in (
            ("rejected", dict(one.rejected), dict(other.rejected)),
            ("markers", one.markers, other.markers),
        ):
            if left_value != right_value:
                first = first or f"{name}: {what} is {left_value}, not {right_value}"
    if first and count:
        first += f"; {count} of {compared} records differ"
    return first, count, compared


def _record_difference(left: Record, right: Record, show: _Show) -> str:
    if left.record != right.record:
        return f"stands where record {right.record} is due"
    if left.rejected != right.rejected:
        return f"rejected is {left.rejected}, not {right.rejected}"
    if left.ids is None or right.ids is None or left.labels is None or right.labels is None:
        return ""
    if left.ids != right.ids:
        at = _first_index(left.ids, right.ids)
        start = max(0, at - 2)
        one, other = left.ids[start : at + _CONTEXT_IDS], right.ids[start : at + _CONTEXT_IDS]
        return (
            f"ids part at position {at} of {len(left.ids)} and {len(right.ids)}: from {start} on "
            f"{one} {show.text(one)}, not {other} {show.text(other)}"
        )
    if left.labels != right.labels:
        at = _first_index(left.labels, right.labels)
        id_text = show.text(left.ids[at : at + 1]) if at < len(left.ids) else "nothing"
        flags = left.labels[at : at + 1], right.labels[at : at + 1]
        return f"label flag {flags[0] or 'absent'}, not {flags[1] or 'absent'}, at position {at} ({id_text})"
    return ""


def _first_index(left: list[int] | str, right: list[int] | str) -> int:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))
