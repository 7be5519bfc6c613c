"""The hand-held declarations say what the headers say, and the library has every function of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cffi
import pytest
from hexapla_core.sys import ffi, lib
from hexapla_core.sys.declarations import ALL

INCLUDE = Path(__file__).resolve().parents[3] / "core" / "include" / "hexapla"
NOUNS = (
    "status",
    "context",
    "tensor",
    "tape",
    "ops",
    "optimizer",
    "checkpoint",
    "tokenizer",
    "gate",
    "ledger",
)


def header_text() -> str:
    if not INCLUDE.is_dir():
        pytest.skip(f"{INCLUDE} is absent")
    text = "\n".join((INCLUDE / f"{noun}.h").read_text("utf-8") for noun in NOUNS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    text = re.sub(r"#if defined.*?#endif", "", text, flags=re.S)
    return re.sub(r"^\s*#(?!define HXP_ABI_VERSION).*$", "", text, flags=re.M).replace("HXP_API ", "")


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\s\w]", text)


def test_declarations_are_the_headers_word_by_word() -> None:
    assert words(ALL) == words(header_text())


def test_every_header_is_listed() -> None:
    if not INCLUDE.is_dir():
        pytest.skip(f"{INCLUDE} is absent")
    assert sorted(NOUNS) == sorted(path.stem for path in INCLUDE.glob("*.h"))


def test_the_library_has_every_declared_function() -> None:
    names = re.findall(r"^(?!typedef)[^\n({]*?\b(hxp_\w+)\(", ALL, flags=re.M)
    assert len(names) > 60
    for name in names:
        assert getattr(lib, name) is not None


def test_a_struct_read_another_way_has_another_layout() -> None:
    """The comparison can fail: one member less, and cffi's own figures differ."""
    other: Any = cffi.FFI()
    other.cdef(ALL.replace("  uint64_t memory_limit;\n", ""))
    assert other.sizeof("hxp_context_options") != ffi.sizeof("hxp_context_options")
