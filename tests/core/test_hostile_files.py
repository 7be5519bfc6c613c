"""Hostile files end in a status with a text, never in a crash: case H2, and seeded mutations of good files.

Case H2's files are also given to the pinned `safetensors`, so that what is refused here is refused there. The
mutations run in this process: a crash would end the test run itself.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_support import Checkpoint
from core_calls import Core, CoreError
from formats_support import Tokenizer, header_bytes, write_json
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

MUTATIONS = 1000  # of each kind of file


def entry(begin: Any, end: Any, shape: Any = (2,), dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


GOOD = {"a": entry(0, 8), "b": entry(8, 16)}
ACCEPTED = {
    "plain": header_bytes(GOOD, bytes(16)),
    "padded with spaces": header_bytes(json.dumps(GOOD).encode() + b" " * 13, bytes(16)),
    "not in offset order": header_bytes({"a": entry(8, 16), "b": entry(0, 8)}, bytes(16)),
    "shape of zero": header_bytes({"a": entry(0, 8), "b": entry(8, 8, (0,))}, bytes(8)),
    "scalar": header_bytes({"a": entry(0, 4, ())}, bytes(4)),
    "metadata": header_bytes({"__metadata__": {"k": "v"}, **GOOD}, bytes(16)),
    "null metadata": header_bytes({"__metadata__": None, **GOOD}, bytes(16)),
    "no tensors": header_bytes({}),
}

TWICE = (
    b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
    b'"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}'
)
MINUS_ZERO = b'{"a":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}}'

# Name, file, what the text must name.
REFUSED: list[tuple[str, bytes, str]] = [
    ("header beyond the file", header_bytes(GOOD, length=4096), "the header's length is 4096, the file has"),
    ("header of 2^63", header_bytes(GOOD, length=2**63), "the header's length is 9223372036854775808"),
    ("header of 2^64 - 1", header_bytes(GOOD, length=2**64 - 1), "18446744073709551615"),
    ("seven bytes", b"\x01" * 7, "the file has 7 bytes"),
    ("empty file", b"", "the file has 0 bytes"),
    ("header of 0", struct.pack("<Q", 0), "does not begin with {"),
    ("broken JSON", header_bytes(b'{"a":'), "header: byte 5: the text ends"),
    ("a list", header_bytes(b"[1]"), "does not begin with {"),
    ("space before", header_bytes(b" " + json.dumps(GOOD).encode(), bytes(16)), "does not begin with {"),
    ("overlap", header_bytes({"a": entry(0, 8), "b": entry(4, 12)}, bytes(12)), "tensor 'b': overlap"),
    ("one range", header_bytes({"a": entry(0, 8), "b": entry(0, 8)}, bytes(8)), "begin at 0, but tensor"),
    ("hole", header_bytes({"a": entry(0, 8), "b": entry(12, 20)}, bytes(20)), "tensor 'b': hole: "),
    ("first not 0", header_bytes({"a": entry(4, 12)}, bytes(12)), "begin at 4, but the data begin at 0"),
    ("end past the file", header_bytes({"a": entry(0, 8)}, bytes(7)), "end at 8 of 7 bytes"),
    ("bytes behind", header_bytes({"a": entry(0, 8)}, bytes(9)), "end at byte 8 of the data, which have 9"),
    ("shape disagrees", header_bytes({"a": entry(0, 8, (3,))}, bytes(8)), "shape [3] of F32 does not fill"),
    ("begin after end", header_bytes({"a": entry(8, 0)}, bytes(8)), "begin at 8, behind their end 0"),
    ("negative offset", header_bytes({"a": entry(-8, 0)}, bytes(8)), "data_offsets holds '-8'"),
    ("minus zero", header_bytes(MINUS_ZERO), "shape holds '-0'"),
    ("float offset", header_bytes({"a": entry(0.0, 8)}, bytes(8)), "data_offsets holds '0.0'"),
    (
        "one offset",
        header_bytes({"a": entry(0, 8) | {"data_offsets": [8]}}, bytes(8)),
        "holds 1 numbers, not 2",
    ),
    ("three offsets", header_bytes({"a": entry(0, 8) | {"data_offsets": [0, 8, 8]}}, bytes(8)), "3 numbers"),
    ("unknown dtype", header_bytes({"a": entry(0, 8, dtype="F31")}, bytes(8)), "unknown dtype 'F31'"),
    ("dtype a number", header_bytes({"a": entry(0, 8, dtype=3)}, bytes(8)), 'no "dtype" that is a string'),
    ("2^33 squared", header_bytes({"a": entry(0, 8, (2**33, 2**33))}, bytes(8)), "multiply past 2^64"),
    ("2^62", header_bytes({"a": entry(0, 8, (2**62,))}, bytes(8)), "does not fill data_offsets [0, 8]"),
    ("nine axes", header_bytes({"a": entry(0, 4, (1,) * 9)}, bytes(4)), "more than 8 axes"),
    ("metadata value", header_bytes({"__metadata__": {"k": 1}}), "__metadata__ 'k' is a number"),
    ("metadata a list", header_bytes({"__metadata__": []}), "__metadata__ is an array"),
    ("name twice", header_bytes(TWICE, bytes(16)), "has the key 'a' twice"),
    ("entry a number", header_bytes({"a": 3}), "the entry is a number"),
    ("no shape", header_bytes({"a": {"dtype": "F32", "data_offsets": [0, 0]}}), 'no "shape"'),
    ("name with zero byte", header_bytes({"a\0b": entry(0, 8)}, bytes(8)), "the name holds U+0000"),
    ("deep", header_bytes(b'{"a":' + b"[" * 100), "nested deeper than 64"),
    ("not UTF-8", header_bytes(b'{"\xff":{}}'), "byte 2: not UTF-8"),
]
# Not refused by the library: it knows no bound of axes, reads names to their length, and skips space before
# the header against the format's own words.
REFUSED_HERE_ALONE = ("nine axes", "name with zero byte", "space before")


@pytest.mark.parametrize("raw", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_case_h2_accepted(core: Core, context: int, tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.safetensors").write_bytes(raw)
    expected = sorted((name, tuple(info["shape"])) for name, info in deserialize(raw))
    with Checkpoint(core, tmp_path / "a.safetensors") as checkpoint:
        assert [(name, shape) for name, _, shape, _ in checkpoint.entries()] == expected
        for name, shape in expected:
            assert checkpoint.read(context, name).shape == (shape or (1,))


@pytest.mark.parametrize(("name", "raw", "named"), REFUSED, ids=[case[0] for case in REFUSED])
def test_case_h2_refused(core: Core, tmp_path: Path, name: str, raw: bytes, named: str) -> None:
    (tmp_path / "a.safetensors").write_bytes(raw)
    with pytest.raises(CoreError) as caught:
        core.make("checkpoint_open", str(tmp_path / "a.safetensors").encode())
    assert caught.value.status in ("HXP_FORMAT", "HXP_UNSUPPORTED")
    text = caught.value.text
    assert named in text and "a.safetensors" in text and "\n" not in text
    try:
        deserialize(raw)
        refused = False
    except (SafetensorError, ValueError):
        refused = True
    assert refused == (name not in REFUSED_HERE_ALONE)


def mutated(raw: bytes, rng: random.Random) -> bytes:
    """One to four changes: bytes replaced, cut, doubled, or swapped for what tends to hurt."""
    data = bytearray(raw)
    nasty = b'\xff \0 " \\u { [ ] } - 99999999999999999999 1e9 , null \xed\xa0\x80'.split(b" ")
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(data) + 1)
        length = rng.choice([0, 1, 1, 2, 8, 40])
        kind = rng.randrange(4)
        if kind == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at : at + length] = rng.choice(nasty)
        elif kind == 2:
            del data[at : at + length]
        else:
            data[at:at] = data[at : at + length]
    return bytes(data)


def statuses(core: Core, samples: Iterator[bytes], use: Callable[[bytes], None]) -> dict[str, int]:
    found: dict[str, int] = {}
    for raw in samples:
        try:
            use(raw)
            status = "HXP_OK"
        except CoreError as error:
            assert error.text and "\n" not in error.text and error.status != "HXP_INTERNAL", (raw, error)
            status = error.status
        found[status] = found.get(status, 0) + 1
    return found


def test_mutated_safetensors(core: Core, context: int, tmp_path: Path) -> None:
    rng = random.Random(11)
    path = tmp_path / "a.safetensors"
    good = save({"a": np.ones((2, 2), np.float32), "bb": np.ones(3, np.float16)}, metadata={"k": "v"})

    def use(raw: bytes) -> None:
        path.write_bytes(raw)
        with Checkpoint(core, path) as checkpoint:
            for name, dtype, *_ in checkpoint.entries():
                if dtype in ("F32", "F16", "BF16"):
                    checkpoint.read(context, name)

    found = statuses(core, (mutated(good, rng) for _ in range(MUTATIONS)), use)
    assert found["HXP_FORMAT"] > MUTATIONS / 2 and found["HXP_OK"] > 0


def test_mutated_tokenizers(core: Core, tmp_path: Path) -> None:
    rng = random.Random(12)
    alphabet = [chr(c) if 33 <= c <= 126 or 161 <= c <= 172 or c >= 174 else None for c in range(256)]
    others = (chr(c) for c in range(256, 400))
    vocabulary = {character or next(others): index for index, character in enumerate(alphabet)}
    vocabulary |= {"ab": 256, "abab": 257}
    content = {
        "added_tokens": [{"id": 258, "content": "<x>", "special": True}],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "model": {
            "type": "BPE",
            "vocab": vocabulary | {"ab": 256, "abab": 257},
            "merges": [["a", "b"], ["ab", "ab"]],
        },
    }
    good = (write_json(tmp_path, content) / "tokenizer.json").read_bytes()

    def use(raw: bytes) -> None:
        (tmp_path / "tokenizer.json").write_bytes(raw)
        with Tokenizer(core, tmp_path) as tokenizer:
            tokenizer.encode("abababa e\u0301 '\u017f\n\n 12")
            tokenizer.added()

    found = statuses(core, (mutated(good, rng) for _ in range(MUTATIONS)), use)
    assert found["HXP_FORMAT"] > MUTATIONS / 4 and found["HXP_OK"] > 0


def test_allocations_stay_within_the_file(core: Core, context: int, tmp_path: Path) -> None:
    """Claims of a header reach no allocation: files of some 100 bytes that claim up to 2^63."""
    before = core.memory(context).allocations
    for claim in (2**20, 2**31, 2**33, 2**61, 2**63 - 1):
        raw = header_bytes({"a": entry(0, claim, (claim,), "U8")}, bytes(8))
        (tmp_path / "a.safetensors").write_bytes(raw)
        with pytest.raises(CoreError, match=f"end at {claim} of 8 bytes"):
            core.make("checkpoint_open", str(tmp_path / "a.safetensors").encode())
    assert core.memory(context).allocations == before
