"""What the tests of file formats share: tokenizers of core and library, seeded texts, files by hand.

Separate from conftest.py because only these tests need it. It must not use the core to say what is
expected of the core.
"""

from __future__ import annotations

import copy
import json
import os
import random
import struct
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from core_calls import Core

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("HEXAPLA_DATA", REPOSITORY.parent / "shared" / "data"))
EMBEDDED_TOKENIZER = REPOSITORY / "harness" / "hexapla" / "data" / "embedded" / "tokenizer"

QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA_PATTERN = QWEN_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def data(relative: str) -> Path:
    """A file or folder of the real test data; the test is skipped by name where it is absent."""
    path = DATA / relative
    if not path.exists():
        pytest.skip(f"no test data: {relative} is not under {DATA} (set HEXAPLA_DATA)")
    return path


class Tokenizer:
    """A core tokenizer."""

    def __init__(self, core: Core, folder: Path) -> None:
        self.core = core
        self.handle = core.make("tokenizer_open", str(folder).encode())

    def __enter__(self) -> Tokenizer:
        return self

    def __exit__(self, *_: object) -> None:
        self.core.release("tokenizer", self.handle)

    def encode_bytes(self, raw: bytes) -> list[int]:
        capacity = 3 * len(raw) + 1  # NFC at most triples the bytes
        ids = self.core.ffi.new("int32_t[]", capacity)
        count = self.core.ffi.new("uint64_t *")
        self.core.call("tokenizer_encode", self.handle, raw, len(raw), ids, capacity, count)
        return list(ids[0 : count[0]])

    def encode(self, text: str) -> list[int]:
        return self.encode_bytes(text.encode("utf-8"))

    def id(self, text: str) -> int:
        out = self.core.ffi.new("int32_t *")
        self.core.call("tokenizer_id", self.handle, text.encode("utf-8"), out)
        return int(out[0])

    def added(self) -> list[tuple[int, str, bool]]:
        count = self.core.ffi.new("uint64_t *")
        self.core.call("tokenizer_added_count", self.handle, count)
        result = []
        for index in range(count[0]):
            token = self.core.ffi.new("hxp_added_token *")
            self.core.lib.hxp_added_token_init(token)
            self.core.call("tokenizer_added", self.handle, index, token)
            raw = self.core.ffi.buffer(token.text, token.text_bytes)[:]
            result.append((token.id, raw.decode("utf-8"), token.special == 1))
        return result


def read_json(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))


def write_json(folder: Path, content: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder


class Reference:
    """E(text) of the specification by the pinned library: added tokens emptied, nothing cut or padded."""

    def __init__(self, content: dict[str, Any]) -> None:
        plain = copy.deepcopy(content) | {"added_tokens": [], "truncation": None, "padding": None}
        self.library = tokenizers.Tokenizer.from_str(json.dumps(plain))

    def encode(self, text: str) -> list[int]:
        return list(self.library.encode(text, add_special_tokens=False).ids)


def by_category() -> dict[str, list[str]]:
    """Every character but the surrogates, by general category as this Python knows it (Cn: unassigned)."""
    categories: dict[str, list[str]] = {}
    for point in range(0x110000):
        if not 0xD800 <= point < 0xE000:
            categories.setdefault(unicodedata.category(chr(point)), []).append(chr(point))
    return categories


def texts(seed: int, characters: int) -> Iterator[str]:
    """Seeded texts of so many characters in all, of every category.

    Mixed and in runs of one category, marks upon letters, jamo, white space, contractions, ASCII.
    """
    rng = random.Random(seed)
    categories = by_category()
    names = sorted(categories)
    marks = categories["Mn"] + categories["Mc"]
    spaces = [c for group in categories.values() for c in group if c.isspace()]
    joined = [
        "'s",
        "'T",
        "'\u017f",
        "'Re",
        "'rE",
        "'ll",
        "'VE",
        "'",
        " a",
        " 1",
        "12345",
        "x",
        "!",
        "\n",
        "\r\n",
        " ",
        "  ",
    ]
    letters = [c for c in categories["Ll"] + categories["Lu"] if unicodedata.decomposition(c) or c.isascii()]

    kinds: list[Callable[[], str]] = [
        lambda: rng.choice(categories[rng.choice(names)]),
        lambda: "".join(rng.choices(categories[rng.choice(names)], k=rng.randrange(1, 9))),
        lambda: rng.choice(letters) + "".join(rng.choices(marks, k=rng.randrange(4))),
        lambda: chr(rng.choice([rng.randrange(0x1100, 0x1200), rng.randrange(0xAC00, 0xD7A4)])),
        lambda: rng.choice(spaces) if rng.random() < 0.8 else rng.choice("ab1!\n\r"),
        lambda: rng.choice(joined),
        lambda: chr(rng.randrange(0x20, 0x7F) if rng.random() < 0.7 else rng.randrange(0xA0, 0x2100)),
    ]
    made = 0
    while made < characters:
        kind = rng.choice(kinds)
        size = rng.choice([1, 2, 5, 20, 100])
        parts = [kind() if rng.random() < 0.8 else rng.choice(kinds)() for _ in range(size)]
        text = "".join(parts)[: characters - made]
        made += len(text)
        yield text


def differences(subject: Tokenizer, reference: Reference, samples: Iterator[str]) -> list[str]:
    """The first few texts with other ids, in ASCII."""
    found = []
    for text in samples:
        if subject.encode(text) != reference.encode(text):
            found.append(ascii(text)[:200])
            if len(found) == 5:
                break
    return found


def train(pattern: str | None, *, normalizer: bool, seed: int) -> dict[str, Any]:
    """A small byte-level tokenizer.json; pattern None: ByteLevel's own."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    if normalizer:
        tokenizer.normalizer = tokenizers.normalizers.NFC()
    if pattern is None:
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    else:
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
        level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, level])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=1500,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(seed, 60_000), trainer)
    tokenizer.add_tokens([tokenizers.AddedToken("<think>", normalized=False)])
    return json.loads(tokenizer.to_str())


def header_bytes(header: Any, data_bytes: bytes = b"", *, length: int | None = None) -> bytes:
    """A safetensors file from a header (an object, or its bytes) and its data."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data_bytes
