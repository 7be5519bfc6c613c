"""Makes core/src/formats/unicode_tables.{hpp,cpp} by asking the pinned `tokenizers` about every code point.

Separate from the build: the tables are committed, and a test runs this script again and compares byte for
byte. Nothing here comes from a Unicode file or from Python's `unicodedata`: core must see letters, numbers,
white space and NFC exactly as the pinned library does, unassigned code points included, and the library's
halves (its regex engine and its normaliser) follow different Unicode versions. What cannot be put in a table
(Hangul syllables, the letters that a case-insensitive contraction accepts) is checked against the library
here, and the script stops if it is no longer so.

    python scripts/unicode/make_tables.py [FOLDER]      default: core/src/formats
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

PINNED = "0.23.3"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
LINE = 128

NFD: Callable[[str], str] = normalizers.NFD().normalize_str
NFC: Callable[[str], str] = normalizers.NFC().normalize_str

# The lowest and the highest combining class that a character has: an overlay (1), the iota subscript (240).
LOWEST_MARK, HIGHEST_MARK = "\u0334", "\u0345"

HANGUL_FIRST, HANGUL_COUNT = 0xAC00, 11172
LEAD, VOWEL, TAIL = 0x1100, 0x1161, 0x11A7
VOWELS, TAILS = 21, 28

# What the contractions accept in each place behind the apostrophe; core writes these letters by hand.
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
FOLDS = {"'{}": "dmstDMST\u017f", "'{}e": "rvRV", "'r{}": "eE", "'v{}": "eE", "'{}l": "lL", "'l{}": "lL"}

HEADER = """// Character classes, decompositions and compositions as tokenizers {version} has them.
// Made by scripts/unicode/make_tables.py: edit that script, never this file.
#pragma once

#include <array>
#include <cstdint>

namespace hexapla::unicode::tables {{

struct Range {{
  char32_t first, last;
}};

/// A run of characters of one combining class; `order` grows with the class and is not its number.
struct MarkRange {{
  char32_t first, last;
  std::uint8_t order;
}};

/// A full canonical decomposition, filled up with zeros. Hangul syllables are arithmetic and left out.
struct Decomposition {{
  char32_t from;
  std::array<char32_t, 4> to;
}};

/// Two characters that NFC makes one of.
struct Composition {{
  char32_t first, second, whole;
}};

"""


def ranges(points: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for point in points:
        if last is not None and point == last + 1:
            last = point
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = point
    if first is not None and last is not None:
        yield first, last


def matched(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the library's regex engine matches, as half-open runs of indices: what `removed` leaves out."""
    at = 0
    for _, (begin, end) in pre_tokenizers.Split(Regex(pattern), "removed").pre_tokenize_str(text):
        if begin > at:
            yield at, begin
        at = end
    if at < len(text):
        yield at, len(text)


def members(pattern: str) -> list[int]:
    """Code points of a character class."""
    runs = matched(f"{pattern}+", "".join(map(chr, POINTS)))
    return [POINTS[index] for begin, end in runs for index in range(begin, end)]


def each(normalise: Callable[[str], str], shape: str = "{}") -> dict[int, str]:
    """What the shape becomes with every code point but the newline in it."""
    points = [c for c in POINTS if c != 0x0A]
    out = normalise("\n".join(shape.replace("{}", chr(c)) for c in points)).split("\n")
    if len(out) != len(points):
        raise SystemExit("the normaliser made or removed a newline")
    return dict(zip(points, out, strict=True))


def sorts_before(left: str, right: str) -> bool:
    """Whether canonical ordering puts left before right when they come the other way round."""
    return NFD(right + left) == left + right


def mark_orders(decomposed: dict[int, str]) -> list[tuple[int, int, int]]:
    """Ranges of non-starters with the rank of their combining class, ordered as the library orders them."""
    # A non-starter changes places with a mark of a higher class before it, or of a lower class behind it.
    behind, before = each(NFD, HIGHEST_MARK + "{}"), each(NFD, "{}" + LOWEST_MARK)
    marks = [
        chr(c)
        for c, alone in decomposed.items()
        if alone == chr(c) and (behind[c] == chr(c) + HIGHEST_MARK or before[c] == LOWEST_MARK + chr(c))
    ]

    def compare(a: str, b: str) -> int:
        return -1 if sorts_before(a, b) else int(sorts_before(b, a))

    order: dict[int, int] = {}
    rank, last = 0, ""
    for mark in sorted(marks, key=functools.cmp_to_key(compare)):
        if not last or sorts_before(last, mark):
            rank += 1
        order[ord(mark)] = rank
        last = mark
    result = []
    for value in range(1, rank + 1):
        result += [(a, b, value) for a, b in ranges(sorted(c for c, r in order.items() if r == value))]
    return sorted(result)


def compositions(decomposed: dict[int, str], composed: dict[int, str]) -> list[tuple[int, int, int]]:
    """Primary composites, each with its two parts; every other pair of such parts must stay apart."""
    pairs: dict[tuple[str, str], str] = {}
    for point, parts in decomposed.items():
        whole = chr(point)
        if is_hangul(point) or len(parts) < 2 or composed[point] != whole:
            continue
        first, second = NFC(parts[:-1]), parts[-1]
        if len(first) != 1 or NFC(first + second) != whole:
            raise SystemExit(f"U+{point:04X} is not made of a character and a mark")
        pairs[first, second] = whole
    for first in {a for a, _ in pairs}:
        for second in {b for _, b in pairs}:
            text = first + second
            # Where the first part, taken apart, ends in a mark that sorts behind the second, others compose.
            in_order = NFD(text) == NFD(first) + second
            if (first, second) not in pairs and in_order and len(NFC(text)) == 1:
                raise SystemExit(f"U+{ord(first):04X} U+{ord(second):04X} compose to an unknown character")
    return sorted((ord(a), ord(b), ord(c)) for (a, b), c in pairs.items())


def is_hangul(point: int) -> bool:
    return HANGUL_FIRST <= point < HANGUL_FIRST + HANGUL_COUNT


def check_hangul(decomposed: dict[int, str]) -> None:
    for index in range(HANGUL_COUNT):
        lead, vowel, tail = index // (VOWELS * TAILS), index // TAILS % VOWELS, index % TAILS
        parts = chr(LEAD + lead) + chr(VOWEL + vowel) + (chr(TAIL + tail) if tail else "")
        syllable = chr(HANGUL_FIRST + index)
        if decomposed[HANGUL_FIRST + index] != parts or NFC(parts) != syllable:
            raise SystemExit(f"U+{HANGUL_FIRST + index:04X} is not arithmetic")
        if tail and NFC(chr(HANGUL_FIRST + index - tail) + chr(TAIL + tail)) != syllable:
            raise SystemExit(f"U+{HANGUL_FIRST + index:04X} does not compose from its two-part syllable")
    edges = ["\uac00\u11a7", "\uac00\u11c3", "\uac01\u11a8", "\u1113\u1161", "\u1100\u1176", "\u1100\u1160"]
    if any(NFC(text) != text for text in edges):
        raise SystemExit("characters just outside the Hangul ranges compose")


def check_folds() -> None:
    cells = "\n".join(f"'{chr(c)}" for c in POINTS)
    alone = {cells[end - 1] for begin, end in matched(CONTRACTIONS, cells) if end - begin == 2}
    candidates = {chr(c) for c in members("(?i:[a-z])")} | alone

    def is_contraction(text: str) -> bool:
        return list(matched(CONTRACTIONS, text)) == [(0, len(text))]

    for shape, letters in FOLDS.items():
        found = {c for c in candidates if is_contraction(shape.format(c))}
        if found != set(letters):
            raise SystemExit(f"a contraction {shape} is matched by {sorted(found)}")


def rows(items: Iterable[str]) -> Iterator[str]:
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > LINE:
            yield line
            line = "   "
        line += f" {item},"
    yield line


def array(kind: str, name: str, items: list[str]) -> tuple[str, str]:
    declared = f"std::array<{kind}, {len(items)}> {name}"
    body = "\n".join(rows(items))
    return f"extern const {declared};\n", f"const {declared}{{{{\n{body}\n}}}};\n"


def numbers(values: Iterable[int]) -> str:
    return "{" + ",".join(f"{v:#x}" for v in values) + "}"


def make() -> tuple[str, str]:
    if tokenizers.__version__ != PINNED:
        raise SystemExit(f"tokenizers is {tokenizers.__version__}: pip install tokenizers=={PINNED}")
    decomposed, composed = each(NFD), each(NFC)
    check_hangul(decomposed)
    check_folds()
    changed = [(c, d) for c, d in decomposed.items() if d != chr(c) and not is_hangul(c)]
    arrays = [
        array("Range", "letters", [numbers(r) for r in ranges(members(r"\p{L}"))]),
        array("Range", "numbers", [numbers(r) for r in ranges(members(r"\p{N}"))]),
        array("Range", "spaces", [numbers(r) for r in ranges(members(r"\s"))]),
        array("MarkRange", "marks", [numbers(r) for r in mark_orders(decomposed)]),
        array("Decomposition", "decompositions", [f"{{{c:#x},{numbers(map(ord, d))}}}" for c, d in changed]),
        array("Composition", "compositions", [numbers(r) for r in compositions(decomposed, composed)]),
    ]
    header = HEADER.format(version=PINNED) + "".join(a for a, _ in arrays)
    header += "\n}  // namespace hexapla::unicode::tables\n"
    source = "// Made by scripts/unicode/make_tables.py: edit that script, never this file.\n"
    source += '#include "formats/unicode_tables.hpp"\n\nnamespace hexapla::unicode::tables {\n\n'
    source += "\n".join(b for _, b in arrays) + "\n}  // namespace hexapla::unicode::tables\n"
    return header, source


def main() -> None:
    default = Path(__file__).resolve().parents[2] / "core" / "src" / "formats"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    header, source = make()
    (folder / "unicode_tables.hpp").write_text(header, encoding="ascii", newline="\n")
    (folder / "unicode_tables.cpp").write_text(source, encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
