"""The tokenizer gives the ids of the pinned `tokenizers` library, with added tokens emptied, for every text.

Compared are whole id lists: on seeded texts of every Unicode category, on the real corpora, and on the values
of the cases D. Refusals are checked by status and by what their text names.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from core_calls import Core, CoreError
from formats_support import (
    EMBEDDED_TOKENIZER,
    GPT2_PATTERN,
    LLAMA_PATTERN,
    QWEN_PATTERN,
    Reference,
    Tokenizer,
    by_category,
    data,
    differences,
    read_json,
    texts,
    train,
    write_json,
)

MILLION = 1_000_000


@pytest.fixture(scope="module")
def qwen(core: Core) -> Iterator[Tokenizer]:
    with Tokenizer(core, data("tokenizer/qwen3-0.6b")) as tokenizer:
        yield tokenizer


@pytest.fixture(scope="module")
def qwen_reference() -> Reference:
    return Reference(read_json(data("tokenizer/qwen3-0.6b")))


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    return train(QWEN_PATTERN, normalizer=True, seed=3)


def test_qwen_on_a_million_characters_of_every_category(qwen: Tokenizer, qwen_reference: Reference) -> None:
    samples = list(texts(1, MILLION))
    seen = set("".join(samples))
    missing = [name for name, members in by_category().items() if not seen.intersection(members)]
    assert (sum(map(len, samples)), missing) == (MILLION, [])
    assert differences(qwen, qwen_reference, iter(samples)) == []


@pytest.mark.parametrize(
    ("pattern", "normalizer", "change"),
    [
        (QWEN_PATTERN, True, {}),
        (None, False, {}),
        (GPT2_PATTERN, True, {}),
        (LLAMA_PATTERN, False, {"ignore_merges": True}),
    ],
    ids=["qwen", "gpt2", "gpt2-split", "llama3"],
)
def test_trained_tokenizers(
    core: Core, tmp_path: Path, pattern: str | None, normalizer: bool, change: dict[str, Any]
) -> None:
    content = train(pattern, normalizer=normalizer, seed=2)
    content["model"] |= change
    with Tokenizer(core, write_json(tmp_path, content)) as tokenizer:
        assert differences(tokenizer, Reference(content), texts(5, 250_000)) == []


def test_embedded_tokenizer(core: Core) -> None:
    content = read_json(EMBEDDED_TOKENIZER)
    with Tokenizer(core, EMBEDDED_TOKENIZER) as tokenizer:
        assert differences(tokenizer, Reference(content), texts(6, 250_000)) == []
        listed = [(t["id"], t["content"], t["special"]) for t in content["added_tokens"]]
        assert tokenizer.added() == listed


def corpus_rows() -> Iterator[str]:
    """Every text of the four real corpora, as their files hold it."""

    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                yield from strings(item)

    for path in sorted(data("clinical").rglob("*.json*")):
        content = path.read_text(encoding="utf-8")
        rows = (
            [json.loads(line) for line in content.splitlines()]
            if path.suffix == ".jsonl"
            else json.loads(content)
        )
        yield from strings(rows)


def test_qwen_on_the_corpora(qwen: Tokenizer, qwen_reference: Reference) -> None:
    assert differences(qwen, qwen_reference, corpus_rows()) == []


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("user\nIs BP 150/95 high?", [872, 198, 3872, 29067, 220, 16, 20, 15, 14, 24, 20, 1550, 30]),
        ("assistant\n", [77091, 198]),
        ("\n\n", [271]),
        ("\n\nYes.", [271, 9454, 13]),
        ("\n\n Yes.", [271, 7414, 13]),
        ("\n\nYes.\n", [271, 9454, 624]),
        ("Stop here <|im_end|> ok", [10674, 1588, 82639, 318, 6213, 91, 29, 5394]),
        ("text </think> text", [1318, 690, 26865, 29, 1467]),
        ("p<0.05 & BP>140/90", [79, 27, 15, 13, 15, 20, 609, 29067, 29, 16, 19, 15, 14, 24, 15]),
        ("", []),
    ],
)
def test_case_d(qwen: Tokenizer, text: str, ids: list[int]) -> None:
    assert qwen.encode(text) == ids


def test_case_d1_pieces(qwen: Tokenizer) -> None:
    start, end, think, end_think = (qwen.id(t) for t in ("<|im_start|>", "<|im_end|>", "<think>", "</think>"))
    newline = qwen.encode("\n")
    ids = [start, *qwen.encode("user\nIs BP 150/95 high?"), end, *newline, start, *qwen.encode("assistant\n")]
    ids += [think, *qwen.encode("\n\n"), end_think, *qwen.encode("\n\nYes."), end, *newline]
    question = "151644 872 198 3872 29067 220 16 20 15 14 24 20 1550 30 151645 198"
    answer = "151644 77091 198 151667 271 151668 271 9454 13 151645 198"
    assert ids == [int(word) for word in f"{question} {answer}".split()]


def test_case_d4_escapes_differ(qwen: Tokenizer) -> None:
    assert len(qwen.encode("p&lt;0.05 &amp; BP&gt;140/90")) == 19
    assert len(qwen.encode(r"p\u003c0.05 \u0026 BP\u003e140/90")) == 28


def test_added_tokens(qwen: Tokenizer) -> None:
    added = qwen.added()
    assert len(added) == 26
    assert added[1] == (151644, "<|im_start|>", True)
    assert added[-1] == (151668, "</think>", False)
    with pytest.raises(CoreError, match=r"HXP_NOT_FOUND: no added token '<\|start\|>' among 26"):
        qwen.id("<|start|>")
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: index 26 of 26"):
        qwen.core.call("tokenizer_added", qwen.handle, 26, _init(qwen.core))


def _init(core: Core) -> Any:
    token = core.ffi.new("hxp_added_token *")
    core.lib.hxp_added_token_init(token)
    return token


@pytest.mark.parametrize(
    "raw", [b"\xff", b"ab\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
)
def test_bytes_that_are_not_utf8(core: Core, tmp_path: Path, small: dict[str, Any], raw: bytes) -> None:
    with (
        Tokenizer(core, write_json(tmp_path, small)) as tokenizer,
        pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: the text is not UTF-8 at byte"),
    ):
        tokenizer.encode_bytes(raw)


def test_capacity_and_counting(core: Core, tmp_path: Path, small: dict[str, Any]) -> None:
    with Tokenizer(core, write_json(tmp_path, small)) as tokenizer:
        expected = tokenizer.encode("a\0b c")
        count = core.ffi.new("uint64_t *")
        core.call("tokenizer_encode", tokenizer.handle, b"a\0b c", 5, core.ffi.NULL, 0, count)
        assert count[0] == len(expected)
        ids = core.ffi.new("int32_t[]", [-7] * len(expected))
        count[0] = 0
        with pytest.raises(CoreError, match=f"ids has room for 1, the text has {len(expected)}"):
            core.call("tokenizer_encode", tokenizer.handle, b"a\0b c", 5, ids, 1, count)
        assert (count[0], list(ids)) == (len(expected), [-7] * len(expected))
        core.call("tokenizer_encode", tokenizer.handle, core.ffi.NULL, 0, core.ffi.NULL, 0, count)
        assert count[0] == 0


def test_long_words_take_linear_time(core: Core, tmp_path: Path, small: dict[str, Any]) -> None:
    """A word of 400 kB may take some 4 times as long as one of 100 kB; quadratic would be 16 times."""
    reference = Reference(small)
    with Tokenizer(core, write_json(tmp_path, small)) as tokenizer:
        for piece in ("a", "ab", "\u00e9\u0301", " ", "\n ", "!", "\uac00\u11a8", "\u0301\u0316"):
            short, long = piece * (100_000 // len(piece)), piece * (400_000 // len(piece))
            times = []
            for text in (short, long):
                begin = time.process_time()
                tokenizer.encode(text)
                times.append(time.process_time() - begin)
            assert times[1] < 10 * times[0] + 0.1, (ascii(piece), times)
        assert tokenizer.encode("ab" * 20_000) == reference.encode("ab" * 20_000)


def test_threads_encode_at_once(core: Core, tmp_path: Path, small: dict[str, Any]) -> None:
    samples = list(texts(9, 4000))
    with Tokenizer(core, write_json(tmp_path, small)) as tokenizer:
        expected = [tokenizer.encode(text) for text in samples]
        failures: list[int] = []

        def work() -> None:
            failures.extend(i for i, text in enumerate(samples) if tokenizer.encode(text) != expected[i])

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []


def test_shares(core: Core, tmp_path: Path, small: dict[str, Any]) -> None:
    before = core.memory().live_handles
    first = core.make("tokenizer_open", str(write_json(tmp_path, small)).encode())
    second = core.make("tokenizer_retain", first)
    assert first != second
    core.release("tokenizer", first)
    out = core.ffi.new("uint64_t *")
    core.call("tokenizer_added_count", second, out)
    assert out[0] == 2
    with pytest.raises(CoreError, match="HXP_STALE_HANDLE"):
        core.call("tokenizer_added_count", first, out)
    core.release("tokenizer", second, 0)
    assert core.memory().live_handles == before


def test_merges_written_as_text(core: Core, tmp_path: Path, small: dict[str, Any]) -> None:
    old = json.loads(json.dumps(small))
    old["model"]["merges"] = [" ".join(pair) for pair in old["model"]["merges"]]
    with Tokenizer(core, write_json(tmp_path, old)) as tokenizer:
        assert differences(tokenizer, Reference(small), texts(8, 20_000)) == []


def test_contractions_end_a_piece(core: Core, tmp_path: Path, small: dict[str, Any]) -> None:
    """Merges that would join a contraction with the letter behind it; U+017F is an s when case is folded.

    Where no merge crosses the end of a piece, a wrong end shows in no id.
    """
    content = json.loads(json.dumps(small))
    vocabulary, merges = content["model"]["vocab"], [["\u00c5", "\u00bf"], ["\u00c5\u00bf", "z"]]
    merges += [[letter, "z"] for letter in "sStTmMdDeElL"]
    for pair in merges:
        vocabulary.setdefault("".join(pair), len(vocabulary) + 100)
    content["model"]["merges"] = merges
    ends = [
        "s",
        "S",
        "\u017f",
        "t",
        "T",
        "m",
        "M",
        "d",
        "D",
        "re",
        "rE",
        "Ve",
        "ll",
        "lL",
        "l\u017f",
        "r",
        "k",
    ]
    samples = [
        f"{before}'{end}{after}" for before in ("", "a", " ") for end in ends for after in ("z", "zz", "")
    ]
    with Tokenizer(core, write_json(tmp_path, content)) as tokenizer:
        assert differences(tokenizer, Reference(content), iter(samples)) == []
        assert tokenizer.encode("'\u017fz") == [vocabulary["'"], vocabulary["\u00c5\u00bf"], vocabulary["z"]]


def _drop_byte(content: dict[str, Any]) -> None:
    del content["model"]["vocab"]["A"]


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one place: keys, then the value."""

    def change(content: Any) -> None:
        for key in path[:-2]:
            content = content[key]
        content[path[-2]] = path[-1]

    return change


SPLIT = ("pre_tokenizer", "pretokenizers", 0)
LEVEL = ("pre_tokenizer", "pretokenizers", 1)
REFUSED: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    ("model", _set("model", "type", "WordPiece"), "HXP_UNSUPPORTED: .*the model .*WordPiece"),
    ("dropout", _set("model", "dropout", 0.1), "HXP_UNSUPPORTED: .*BPE with dropout '0.1'"),
    (
        "prefix",
        _set("model", "continuing_subword_prefix", "##"),
        "HXP_UNSUPPORTED: .*continuing_subword_prefix '\"##\"'",
    ),
    ("suffix", _set("model", "end_of_word_suffix", "</w>"), "HXP_UNSUPPORTED: .*end_of_word_suffix"),
    ("normalizer", _set("normalizer", "type", "NFKC"), "HXP_UNSUPPORTED: .*the normalizer 'NFKC' is not NFC"),
    ("no split", _set("pre_tokenizer", None), "HXP_UNSUPPORTED: .*no pre_tokenizer"),
    ("metaspace", _set("pre_tokenizer", {"type": "Metaspace"}), "HXP_UNSUPPORTED: .*'Metaspace'"),
    (
        "pattern",
        _set(*SPLIT, "pattern", {"Regex": "\\w+"}),
        r"HXP_UNSUPPORTED: .*the split pattern '\\w\+' is none",
    ),
    ("string", _set(*SPLIT, "pattern", {"String": " "}), "HXP_UNSUPPORTED: .*not by a Regex"),
    ("behavior", _set(*SPLIT, "behavior", "Removed"), "HXP_UNSUPPORTED: .*behavior 'Removed', not Isolated"),
    ("invert", _set(*SPLIT, "invert", True), "HXP_UNSUPPORTED: .*Split with invert"),
    ("prefix space", _set(*LEVEL, "add_prefix_space", True), "HXP_UNSUPPORTED: .*add_prefix_space"),
    ("two patterns", _set(*LEVEL, "use_regex", True), "HXP_UNSUPPORTED: .*use_regex behind a Split"),
    ("byte", _drop_byte, "HXP_UNSUPPORTED: .*no token 'A' for byte 65"),
    ("big id", _set("model", "vocab", "zz", 2**31), "HXP_FORMAT: .*the id of 'zz' is '2147483648'"),
    ("float id", _set("model", "vocab", "zz", 1.5), "HXP_FORMAT: .*the id of 'zz' is '1.5'"),
    ("negative id", _set("model", "vocab", "zz", -1), "HXP_FORMAT: .*the id of 'zz' is '-1'"),
    ("id twice", _set("model", "vocab", "zz", 5), "HXP_FORMAT: .*two tokens of the vocabulary have the id 5"),
    (
        "merge of three",
        _set("model", "merges", 0, ["a", "b", "c"]),
        "HXP_FORMAT: .*the merge .* is not two tokens",
    ),
    ("merge of one", _set("model", "merges", 0, "ab"), "HXP_FORMAT: .*the merge .* is not two tokens"),
    ("merge of numbers", _set("model", "merges", 0, [1, 2]), "HXP_FORMAT: .*the merge .* is not two tokens"),
    ("unknown in a merge", _set("model", "merges", 3, ["qqq", "a"]), "HXP_FORMAT: .*merge 3 names 'qqq'"),
    ("no vocab", lambda c: c["model"].pop("vocab"), 'HXP_FORMAT: .*"model" has no "vocab"'),
    ("merges object", _set("model", "merges", {}), 'HXP_FORMAT: .*"merges" is an object, not an array'),
    ("added number", _set("added_tokens", 0, 7), "HXP_FORMAT: .*an added token is a number"),
    ("added empty", _set("added_tokens", 0, "content", ""), "HXP_FORMAT: .*text is empty"),
    ("added moved", _set("added_tokens", 0, "id", 9), "HXP_FORMAT: .*endoftext.*' has id 9, and 0"),
    ("added twice", lambda c: c["added_tokens"].append(c["added_tokens"][0]), "HXP_FORMAT: .*stands twice"),
    (
        "merge twice",
        lambda c: c["model"]["merges"].append(c["model"]["merges"][0]),
        "HXP_FORMAT: .*stands twice",
    ),
]


@pytest.mark.parametrize(
    ("change", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refused_files(
    core: Core, tmp_path: Path, small: dict[str, Any], change: Callable[[dict[str, Any]], None], message: str
) -> None:
    content = json.loads(json.dumps(small))
    change(content)
    with pytest.raises(CoreError, match=message):
        core.make("tokenizer_open", str(write_json(tmp_path, content)).encode())


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "byte 0: the text ends where a value should stand"),
        (b"[]", "the file is an array, not an object"),
        (b'{"model": {}, "model": {}}', "byte 0: the object that begins here has the key 'model' twice"),
        (b'{"a": {"b": 1, "\\u0062": 2}}', "byte 6: the object that begins here has the key 'b' twice"),
        (b'{"a": "\\ud800"}', "byte 7: half of a surrogate pair"),
        (b'{"a": "\\udc00\\ud800"}', "byte 7: half of a surrogate pair"),
        (b'{"a": "\xff"}', "byte 7: not UTF-8"),
        (b'{"a": "\n"}', "byte 7: a control character"),
        (b'{"a": 01}', "byte 6: a number with a leading zero"),
        (b'{"a": 1.}', "byte 8: a digit should stand here"),
        (b'{"a": NaN}', "byte 6: no value of JSON"),
        (b'{"a": 1,}', "byte 8: a key in quotes should stand here"),
        (b'{"a": [1,]}', "byte 9: no value of JSON"),
        (b'{"a": 1} x', "byte 9: text follows the value"),
        (b'{"a": "x', "byte 6: a string without an end"),
        (b'{"a": "\\x"}', "byte 7: an unknown escape"),
        (b"\xef\xbb\xbf{}", "byte 0: no value of JSON"),
        (b"[" * 65 + b"]" * 65, "byte 64: nested deeper than 64"),
    ],
)
def test_broken_json(core: Core, tmp_path: Path, raw: bytes, message: str) -> None:
    (tmp_path / "tokenizer.json").write_bytes(raw)
    with pytest.raises(CoreError, match="HXP_FORMAT") as caught:
        core.make("tokenizer_open", str(tmp_path).encode())
    assert message in caught.value.text and "tokenizer.json" in caught.value.text


def test_absent_folder(core: Core, tmp_path: Path) -> None:
    with pytest.raises(CoreError, match=r"HXP_IO: cannot open .*tokenizer\.json: No such file or directory"):
        core.make("tokenizer_open", str(tmp_path / "none").encode())
