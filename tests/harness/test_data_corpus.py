"""Converters and build: forms, duplicates, held-out choice, sums, refusals, and the real files' counts."""

import json
import os
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from embedded_scripts import REPOSITORY
from hexapla.data.command import add_parser
from hexapla.data.corpus import FileCount, build, fold, resolve_corpus
from hexapla.data.order import epoch_order
from hexapla.data.source import CorpusError

CLINICAL = Path(os.environ.get("HEXAPLA_DATA", REPOSITORY.parent / "shared" / "data")) / "clinical"
real = pytest.mark.skipif(not CLINICAL.is_dir(), reason=f"no {CLINICAL}: set HEXAPLA_DATA")

Json = dict[str, Any]


def medmcqa(number: int, **changed: Any) -> Json:
    row = {"question": f"Stem {number}?", "exp": f"Because {number}.", "cop": 1, "id": f"m{number}"}
    return {**row, "opa": "w", "opb": "x", "opc": "y", "opd": "z", "choice_type": "multi", **changed}


def medqa(number: int, **changed: Any) -> Json:
    options = {"A": "first", "B": "second"}
    return {
        "question": f"Case {number}?",
        "options": options,
        "answer": "second",
        "answer_idx": "B",
        **changed,
    }


def lines(*rows: Json) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """Writes source files by relative path under one folder."""

    def write(files: dict[str, bytes]) -> Path:
        for name, content in files.items():
            file = tmp_path / "source" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return tmp_path / "source"

    return write


def read(file: Path) -> list[Json]:
    return [json.loads(line) for line in file.read_bytes().decode("utf-8").split("\n")[:-1]]


def everything(folder: Path) -> dict[str, Json]:
    return {row["id"]: row for name in ("train", "heldout") for row in read(folder / f"{name}.jsonl")}


def test_each_form_becomes_stem_options_and_answer(source: Callable[..., Path], tmp_path: Path) -> None:
    article = {"QUESTION": "Does it?", "CONTEXTS": ["Long."], "LONG_ANSWER": "It does."}
    copied = {"realidx": "8", "question": "Long.\nOnly here?", "answer_rationale": "Yes, here."}
    folder = source(
        {
            "medmcqa/dev.jsonl": lines(*(medmcqa(i) for i in range(60))),
            "medqa/test.jsonl": lines(medqa(0)),
            "pubmedqa/ori_pqal.json": json.dumps({"7": article}).encode(),
            "pubmedqa/copy.jsonl": lines(copied),
        }
    )
    build(folder, tmp_path / "out", 1)
    rows = everything(tmp_path / "out")
    assert rows["medmcqa/dev/m3"] == {
        "id": "medmcqa/dev/m3",
        "question": "Stem 3?\nA) w\nB) x\nC) y\nD) z",
        "answer": "Because 3.",
    }
    assert rows["medqa/test/000001"]["question"] == "Case 0?\nA) first\nB) second"
    assert rows["medqa/test/000001"]["answer"] == "second"
    assert rows["pubmedqa/ori_pqal/7"]["question"] == "Does it?"
    assert rows["pubmedqa/ori_pqal/7"]["answer"] == "It does."
    assert rows["pubmedqa/copy/8"]["question"] == "Only here?"
    assert rows["pubmedqa/copy/8"]["answer"] == "Yes, here."


def test_first_source_wins_and_a_rejected_row_claims_nothing(
    source: Callable[..., Path], tmp_path: Path
) -> None:
    article = {"QUESTION": "STRASSE  3?", "LONG_ANSWER": "Late."}
    folder = source(
        {
            "medmcqa/a.jsonl": lines(
                *(medmcqa(i) for i in range(60)),
                medmcqa(60, exp=None, question="Later explained?"),
                medmcqa(61, exp="  "),
                medmcqa(62, question="Later  Explained?", exp="Here."),
                medmcqa(63, question="Straße 3?"),
                medmcqa(64, question="Me\u0301nie\u0300re?"),
                medmcqa(65, question="\u00a0MÉNIÈRE? "),
            ),
            "pubmedqa/ori_pqal.json": json.dumps({"7": article}).encode(),
        }
    )
    manifest = build(folder, tmp_path / "out", 1)
    first, second = manifest.files
    assert (first.rows, first.converted, first.duplicate) == (66, 63, 1)
    assert first.rejected == {"no_explanation": 2}
    assert (second.rows, second.converted, second.duplicate, second.rejected) == (1, 0, 1, {})
    assert everything(tmp_path / "out")["medmcqa/a/m62"]["answer"] == "Here."


def test_held_out_is_the_head_of_epoch_0_and_both_files_keep_source_order(
    source: Callable[..., Path], tmp_path: Path
) -> None:
    folder = source({"medmcqa/a.json": lines(*(medmcqa(i) for i in range(149)))})
    manifest = build(folder, tmp_path / "out", 5)
    assert (manifest.train, manifest.heldout) == (147, 2)
    held = sorted(epoch_order(5, 0, 149)[:2])
    assert [row["id"] for row in read(tmp_path / "out" / "heldout.jsonl")] == [
        f"medmcqa/a/m{i}" for i in held
    ]
    left = [f"medmcqa/a/m{i}" for i in range(149) if i not in held]
    assert [row["id"] for row in read(tmp_path / "out" / "train.jsonl")] == left


def test_awkward_text_survives(source: Callable[..., Path], tmp_path: Path) -> None:
    stem = "a\u2028b\u0085c\u00a0d\x00e\r\n<&>\"' \U0001f48a?"
    folder = source({"medmcqa/a.json": lines(*(medmcqa(i) for i in range(60)), medmcqa(60, question=stem))})
    build(folder, tmp_path / "out", 1)
    assert everything(tmp_path / "out")["medmcqa/a/m60"]["question"].startswith(stem)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("medmcqa/a.json", lines(medmcqa(0)) + b"{\n", r"a\.json:2: "),
        ("medmcqa/a.json", b'{"question": "\\ud800"}\n', r"a\.json:1: lone surrogate"),
        (
            "medmcqa/a.json",
            lines(medmcqa(0), medmcqa(1, question=" ")),
            r"a\.json:2: question must be a text",
        ),
        ("medmcqa/a.json", lines(medmcqa(0, opc=None)), r"a\.json:1: opc must be a text"),
        ("medmcqa/a.json", lines(medmcqa(0, exp=3)), r"a\.json:1: exp must be a text or null"),
        ("medmcqa/a.json", lines(medmcqa(0), medmcqa(0)), r"a\.json:2: id medmcqa/a/m0 was already used"),
        ("medqa/a.jsonl", lines(medqa(0, options=[])), r"a\.jsonl:1: options must be an object"),
        ("medqa/a.jsonl", lines(medqa(0, answer_idx="A")), r"a\.jsonl:1: answer 'second' is not the text of"),
        (
            "medqa/a.jsonl",
            lines(medqa(0, answer_idx=["A"])),
            r"a\.jsonl:1: answer 'second' is not the text of",
        ),
        ("pubmedqa/a.json", b"[]", r"a\.json: .*one object by PMID"),
        ("pubmedqa/a.json", b'{"7": 1}', r"a\.json:7: expected an object"),
        ("pubmedqa/a.jsonl", lines({"question": "x?"}), r"a\.jsonl:1: realidx must be a text"),
        ("medmcqa/a.json", lines(medmcqa(0)), "1 rows left"),
        ("medmcqa/readme.txt", b"", "neither a built corpus"),
    ],
)
def test_a_bad_source_is_one_clear_line_and_leaves_nothing(
    source: Callable[..., Path], tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(CorpusError, match=message) as caught:
        build(source({name: content}), tmp_path / "out", 1)
    assert "\n" not in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["source"]


def test_a_blank_option_is_kept(source: Callable[..., Path], tmp_path: Path) -> None:
    folder = source({"medmcqa/a.json": lines(medmcqa(99, opc=""), *(medmcqa(i) for i in range(60)))})
    build(folder, tmp_path / "out", 1)
    assert "\nC) \nD) z" in everything(tmp_path / "out")["medmcqa/a/m99"]["question"]


def test_a_sum_that_does_not_add_up_is_refused() -> None:
    with pytest.raises(CorpusError, match="3 rows, but 2 accounted for"):
        FileCount("a", "", rows=3, converted=1, duplicate=0, rejected={"no_explanation": 1}).check()


def test_an_existing_folder_is_not_overwritten(source: Callable[..., Path], tmp_path: Path) -> None:
    folder = source({"medmcqa/a.json": lines(*(medmcqa(i) for i in range(60)))})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept").write_bytes(b"mine")
    with pytest.raises(CorpusError, match="exists and is not empty"):
        build(folder, tmp_path / "out", 1)
    assert (tmp_path / "out" / "kept").read_bytes() == b"mine"


def test_sources_are_built_into_the_cache_once(source: Callable[..., Path], tmp_path: Path) -> None:
    folder = source({"medmcqa/a.json": lines(*(medmcqa(i) for i in range(60)))})
    cache = tmp_path / "cache"
    first = resolve_corpus(folder, cache, 1)
    made = first.train.stat().st_mtime_ns
    assert resolve_corpus(folder, cache, 1) == first
    assert first.train.stat().st_mtime_ns == made
    assert resolve_corpus(folder, cache, 2) != first
    assert resolve_corpus(first.folder, cache, 7) == first
    source({"medmcqa/a.json": lines(*(medmcqa(i) for i in range(61)))})
    assert resolve_corpus(folder, cache, 1) != first


def test_a_built_folder_that_was_changed_is_refused(source: Callable[..., Path], tmp_path: Path) -> None:
    built = resolve_corpus(source({"medqa/a.jsonl": lines(*(medqa(i) for i in range(50)))}), tmp_path, 1)
    with built.train.open("ab") as stream:
        stream.write(b"\n")
    with pytest.raises(CorpusError, match=r"train\.jsonl: changed since it was built"):
        resolve_corpus(built.folder, tmp_path, 1)
    (built.folder / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CorpusError, match="not the manifest"):
        resolve_corpus(built.folder, tmp_path, 1)
    (built.folder / "manifest.json").unlink()
    assert resolve_corpus(built.folder, tmp_path, 1) == built


def test_command_builds_and_refuses(
    source: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = ArgumentParser()
    add_parser(parser.add_subparsers())
    folder = source({"medqa/a.jsonl": lines(*(medqa(i) for i in range(50)))})
    words = ["data", "build", str(folder), str(tmp_path / "out")]
    arguments = parser.parse_args(words)
    assert arguments.run(arguments) == 0
    assert "49 train, 1 held out" in capsys.readouterr().out
    assert arguments.run(arguments) == 2
    error = capsys.readouterr().err
    assert "exists and is not empty" in error
    assert error.count("\n") == 1
    arguments = parser.parse_args([*words, "--seed", "-1"])
    assert arguments.run(arguments) == 2


def test_fold() -> None:
    assert fold(" Straße\u00a0\n x ") == "strasse x"


@real
def test_real_files_are_accounted_for(tmp_path: Path) -> None:
    manifest = build(CLINICAL, tmp_path / "out", 1)
    files = {file.path: (file.rows, file.converted, file.duplicate, file.rejected) for file in manifest.files}
    assert files == {
        "medmcqa/dev.jsonl": (4183, 2206, 0, {"no_explanation": 1977}),
        "medqa/us_4opt_test.jsonl": (1273, 1273, 0, {}),
        "medqa/us_5opt_dev.jsonl": (1272, 1272, 0, {}),
        "pubmedqa/ori_pqal.json": (1000, 1000, 0, {}),
        "pubmedqa/medagents_train450.jsonl": (450, 0, 450, {}),
    }
    assert (manifest.rows, manifest.converted, manifest.duplicate) == (8178, 5751, 450)
    assert (manifest.train, manifest.heldout) == (5636, 115)
    rows = everything(tmp_path / "out")
    assert len(rows) == 5751
    written = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert written["rows"] == 8178
    assert set(written) == {
        "format",
        "seed",
        "files",
        "rows",
        "converted",
        "duplicate",
        "rejected",
        "train",
        "heldout",
        "train_sha256",
        "heldout_sha256",
    }


@real
def test_each_real_source_alone_is_converted_too(source: Callable[..., Path], tmp_path: Path) -> None:
    """The 450 rows of the copy are duplicates only beside the original."""
    copy = (CLINICAL / "pubmedqa" / "medagents_train450.jsonl").read_bytes()
    manifest = build(source({"pubmedqa/medagents_train450.jsonl": copy}), tmp_path / "out", 1)
    assert (manifest.rows, manifest.converted, manifest.duplicate) == (450, 450, 0)
