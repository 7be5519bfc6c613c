"""Batches: records end to end, their label places, and the digest of an update's records."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hexapla_core.trainer.render import Rendered


@dataclass(frozen=True)
class MicroBatch:
    """Records packed without padding; arrays of i32, built once.

    ids, positions (tokens); starts (records + 1); rows, targets (labels); label_counts (records).
    """

    ids: array[int]
    positions: array[int]
    starts: array[int]
    rows: array[int]
    targets: array[int]
    label_counts: tuple[int, ...]


def pack(records: Sequence[Rendered]) -> MicroBatch:
    """Lay records end to end; the row of a label is the one before its id."""
    ids, positions, starts = array("i"), array("i"), array("i", [0])
    rows, targets = array("i"), array("i")
    for record in records:
        base = len(ids)
        flagged = [place for place, flag in enumerate(record.flags) if flag]
        rows.extend([base + place - 1 for place in flagged])
        targets.extend([record.ids[place] for place in flagged])
        ids.extend(record.ids)
        positions.extend(range(len(record.ids)))
        starts.append(len(ids))
    counts = tuple(record.labels for record in records)
    return MicroBatch(ids, positions, starts, rows, targets, counts)


def micro_batches(records: Sequence[Rendered], size: int) -> Iterator[MicroBatch]:
    """Successive runs of `size` records, packed."""
    for first in range(0, len(records), size):
        yield pack(records[first : first + size])


def batch_digest(records: Sequence[Rendered]) -> str:
    """FNV-1a 64 over, per record, its id count and ids as little-endian u32, then one byte a flag."""
    value = 0xCBF29CE484222325
    for record in records:
        count = len(record.ids)
        for byte in struct.pack(f"<{count + 1}I", count, *record.ids) + record.flags:
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def record_sums(values: Sequence[float] | memoryview, label_counts: Sequence[int]) -> list[float]:
    """Each record's f64 running sum of its labels, in order. (From Python 3.12 on `sum` compensates.)"""
    sums, place = [], 0
    for count in label_counts:
        total = 0.0
        for value in values[place : place + count]:
            total += value
        sums.append(total)
        place += count
    return sums
