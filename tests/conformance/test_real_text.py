"""Rendering of real rows: every row of the corpora in the shared data, with the real and the embedded
tokenizer, through every trainer; 0 ids or flags may differ.

Slow, because each trainer tokenises some ten thousand rows twice. Also rows that `hexapla data build` would
leave out (duplicates, no explanation) are rendered: with some text in place of what they lack.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from crew import EMBEDDED, IMPLEMENTATIONS, Crew, Place, shared, write_records
from hexapla.commands.inputs import prepare
from hexapla.data.corpus import SOURCES, build, source_files
from hexapla.levels.rendering import Rendering
from hexapla.protocol import Outcome

Row = dict[str, str]


def clinical_rows() -> Iterator[Row]:
    """All rows of the three corpora, converted or not."""
    for name, file in source_files(shared("clinical")):
        for row in SOURCES[name](file):
            yield {"id": row.id, "question": row.question, "answer": row.answer or f"{row.stem} - none"}


def french_rows() -> Iterator[Row]:
    """FrenchMedMCQA: the stem, a line an option, and the right options' texts as the answer."""
    file = shared("clinical", "frenchmedmcqa", "train.json")
    for number, row in enumerate(json.loads(file.read_text("utf-8"))):  # its own ids are not unique
        options = [f"{letter.upper()}) {text}" for letter, text in row["answers"].items()]
        right = [row["answers"][letter] for letter in row["correct_answers"]]
        yield {
            "id": f"french-{number}",
            "question": "\n".join([row["question"], *options]),
            "answer": "; ".join(right),
        }


@pytest.mark.slow
@pytest.mark.parametrize("which", ["real tokenizer", "embedded tokenizer"])
def test_no_id_and_no_flag_differs(
    crew: Crew, micro: Place, tmp_path: Path, request: pytest.FixtureRequest, which: str
) -> None:
    tokenizer = request.getfixturevalue("qwen3") if which == "real tokenizer" else EMBEDDED / "tokenizer"
    clinical, french = list(clinical_rows()), list(french_rows())
    built = build(shared("clinical"), tmp_path / "corpus", micro.spec["seed"])
    assert (len(clinical), len(french)) == (4183 + 1273 + 1272 + 1000 + 450, 2171) and built.rows == len(
        clinical
    )
    parts = [tmp_path / "corpus/train.jsonl", tmp_path / "corpus/heldout.jsonl"]
    converted = [json.loads(line) for part in parts for line in part.read_text("utf-8").split("\n") if line]
    assert len(converted) == built.converted and all(row in clinical for row in converted[::50])
    files = {
        "clinical": write_records(tmp_path / "clinical.jsonl", *clinical),
        "frenchmedmcqa": write_records(tmp_path / "french.jsonl", *french),
    }
    for spec in ("tiny", "micro"):
        for part in ("train", "heldout"):
            files[f"{spec}-{part}"] = EMBEDDED / "records" / spec / f"{part}.jsonl"
    words = Namespace(spec="micro", corpus=None, tokenizer=tokenizer, model=micro.model)
    inputs = replace(prepare(words, crew.places, tmp_path), render_files=files, render_length=4096)
    level = Rendering()
    observed = {name: level.observe(crew.session(name), inputs) for name in IMPLEMENTATIONS}
    stacks = {"torch": "torch", "oracle": "numpy", "c": "core", "python": "core"}
    findings = level.judge(observed, stacks, inputs)
    assert {name: finding.reason for name, finding in findings.items() if finding.reason} == {}
    assert all(finding.outcome is Outcome.PASS for finding in findings.values())
    rows = sum(len(each.records) for each in observed["oracle"].values())
    expected = len(clinical) + len(french) + 360 + 64 + 18 + 6
    assert rows >= expected and findings["c"].figures["records_compared"] == rows
    assert findings["c"].figures["records_different"] == 0
    # The judge can fail: one flag turned in one record is found.
    first = observed["c"]["frenchmedmcqa"].records[0]
    assert first.labels is not None
    turned = replace(first, labels="1" + first.labels[1:])
    records = [turned, *observed["c"]["frenchmedmcqa"].records[1:]]
    changed = {**observed["c"], "frenchmedmcqa": replace(observed["c"]["frenchmedmcqa"], records=records)}
    findings = level.judge({**observed, "c": changed}, stacks, inputs)
    assert findings["c"].outcome is Outcome.FAIL and turned.record in findings["c"].reason
