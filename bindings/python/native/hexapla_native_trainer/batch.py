"""Micro-batches: records end to end as the arrays that operations take, and an update's digest. Separate
from the forward pass: everything here is host data, made once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from hexapla_native import fnv1a64

from hexapla_native_trainer.render import Ids, Rendered

FNV_OFFSET = 0xCBF29CE484222325


@dataclass(frozen=True)
class MicroBatch:
    """`labels` counts the flagged ids of each record."""

    ids: Ids  # (rows)
    positions: Ids  # (rows), from 0 in each record
    starts: Ids  # (records + 1)
    rows: Ids  # (labels): the row before each flagged id
    targets: Ids  # (labels): the flagged ids
    labels: list[int]


def pack(records: Sequence[Rendered]) -> MicroBatch:
    ids = np.concatenate([record.ids for record in records])
    flags = np.concatenate([record.flags for record in records])
    lengths = [len(record.ids) for record in records]
    flagged = np.flatnonzero(flags)
    return MicroBatch(
        ids=ids,
        positions=np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]),
        starts=np.cumsum([0, *lengths]).astype(np.int32),
        rows=(flagged - 1).astype(np.int32),
        targets=np.ascontiguousarray(ids[flagged]),
        labels=[record.labels for record in records],
    )


def micro_batches(records: Sequence[Rendered], size: int) -> Iterator[MicroBatch]:
    """Successive runs of `size` records."""
    for first in range(0, len(records), size):
        yield pack(records[first : first + size])


def batch_digest(records: Sequence[Rendered]) -> str:
    """FNV-1a 64 over each record's id count, ids and flags."""
    state = FNV_OFFSET
    for record in records:
        state = fnv1a64(np.array([len(record.ids)], "<u4"), state)
        state = fnv1a64(record.ids.astype("<u4", copy=False), state)
        state = fnv1a64(record.flags, state)
    return f"{state:016x}"
