"""Cases D through every trainer, with the tokenizer whose ids the cases name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crew import Crew, Place, every_implementation, write_records
from hexapla.data.adapter import Shape, make_initial_adapter
from hexapla.data.shapes import random_weights, read_vocabulary
from hexapla.protocol import Done, Record
from hexapla.spec import Spec, load_spec
from models import write_model
from tokenizers import Tokenizer

QUESTION = {"question": "Is BP 150/95 high?"}
PROMPT = [
    *(151644, 872, 198, 3872, 29067, 220, 16, 20, 15, 14, 24, 20, 1550, 30, 151645, 198, 151644, 77091, 198),
    *(151667, 271, 151668, 271),
]
D1 = [*PROMPT, 9454, 13, 151645, 198]
DIGEST_OF_D1 = "d07c95059f5dc313"

STOP, THINK = "Stop here <|im_end|> ok", "text </think> text"
STOP_IDS = [10674, 1588, 82639, 318, 6213, 91, 29, 5394]
THINK_IDS = [1318, 690, 26865, 29, 1467]
LESS = "p<0.05 & BP>140/90"
LESS_IDS = [79, 27, 15, 13, 15, 20, 609, 29067, 29, 16, 19, 15, 14, 24, 15]
QUOTED = 'patient\'s "S3" \u00e9 \u2028 <b>'

# All of them go through one request, since opening the real tokenizer is what costs.
RECORDS = {
    "yes": {**QUESTION, "answer": "Yes."},
    "newline before": {**QUESTION, "answer": "\nYes."},
    "newlines before": {**QUESTION, "answer": "\n\n\nYes."},
    "space before": {**QUESTION, "answer": " Yes."},
    "newline behind": {**QUESTION, "answer": "Yes.\n"},
    "end in question": {"question": STOP, "answer": "Yes."},
    "end in answer": {**QUESTION, "answer": STOP},
    "think in question": {"question": THINK, "answer": "Yes."},
    "think in answer": {**QUESTION, "answer": THINK},
    "end in system": {**QUESTION, "answer": "Yes.", "system": STOP},
    "escapes in question": {"question": LESS, "answer": "Yes."},
    "escapes in answer": {**QUESTION, "answer": LESS},
    "quotes": {**QUESTION, "answer": QUOTED},
}
# A question longer by one id is the row cut one id earlier.
CUT = {extra: {"question": f"Is BP 150/95 high{' high' * extra}?", "answer": "Yes."} for extra in range(5)}

Rendered = tuple[dict[Any, Record], Mapping[str, Any]]


class Renderings:
    """What every implementation makes of RECORDS and CUT, each asked for once."""

    def __init__(self, crew: Crew, tokenizer: Path, folder: Path) -> None:
        self._crew, self._tokenizer, self._folder = crew, tokenizer, folder
        self._known: dict[tuple[str, str, int], Rendered] = {}

    def of(self, name: str, template: str = "qwen3", length: int = 256) -> Rendered:
        """Records by their key, and the counts at the end."""
        if (name, template, length) not in self._known:
            chosen: Mapping[Any, Mapping[str, str]] = RECORDS if length == 256 else CUT
            file = write_records(self._folder / f"{length}.jsonl", *chosen.values())
            keys = {"tokenizer": str(self._tokenizer), "records": str(file)}
            answer = self._crew.ask(name, "render", **keys, template=template, length=length)
            assert isinstance(answer.end, Done)
            records = [event for event in answer.events if isinstance(event, Record)]
            by_key = dict(zip(chosen, records, strict=True))
            self._known[name, template, length] = by_key, answer.end.values
        return self._known[name, template, length]


@pytest.fixture(scope="module")
def renderings(crew: Crew, qwen3: Path, tmp_path_factory: pytest.TempPathFactory) -> Renderings:
    return Renderings(crew, qwen3, tmp_path_factory.mktemp("rendering"))


@every_implementation
def test_d1_d2_think_block_and_targets(renderings: Renderings, name: str) -> None:
    """The block is prompt; the answer and the end of the turn are targets; no first token, no pad."""
    records, _ = renderings.of(name)
    for key in ("yes", "newline before", "newlines before"):
        assert records[key].ids == D1 and records[key].labels == "0" * 23 + "1110", key
    assert records["space before"].ids == [*PROMPT, 7414, 13, 151645, 198]
    assert records["newline behind"].ids == [*PROMPT, 9454, 624, 151645, 198]
    assert records["newline behind"].labels == "0" * 23 + "1110"
    assert D1.count(151645) == 2 and D1.count(198) == 4 and 151643 not in D1


@every_implementation
def test_d1_generic_template(renderings: Renderings, name: str) -> None:
    """A generic rendering has 23 ids: no block. Its flags cover the same three."""
    record = renderings.of(name, template="chatml")[0]["yes"]
    assert record.ids == [*PROMPT[:19], *D1[23:]] and record.labels == "0" * 19 + "1110"


@every_implementation
def test_d3_control_tokens_are_text(renderings: Renderings, name: str) -> None:
    """Plain in question, answer and system; counted; the closing think tag in an answer rejects it."""
    records, counts = renderings.of(name)
    tail = [*PROMPT[14:], 9454, 13, 151645, 198]
    assert records["end in question"].ids == [151644, 872, 198, *STOP_IDS, *tail]
    assert records["end in answer"].ids == [*PROMPT, *STOP_IDS, 151645, 198]
    assert records["end in answer"].labels == "0" * 23 + "1" * 9 + "0"
    assert records["think in question"].ids == [151644, 872, 198, *THINK_IDS, *tail]
    assert records["think in answer"].rejected == "think" and records["think in answer"].ids is None
    assert records["end in system"].ids == [151644, 8948, 198, *STOP_IDS, 151645, 198, *D1]
    assert counts == {"accepted": len(RECORDS) - 1, "rejected": {"think": 1}, "markers": 5}


@every_implementation
def test_d4_no_escaping(renderings: Renderings, qwen3: Path, name: str) -> None:
    records, _ = renderings.of(name)
    assert records["escapes in question"].ids == [151644, 872, 198, *LESS_IDS, *PROMPT[14:], *D1[23:]]
    assert records["escapes in answer"].ids == [*PROMPT, *LESS_IDS, 151645, 198]
    text = Tokenizer.from_file(str(qwen3 / "tokenizer.json")).decode(records["quotes"].ids, False)
    assert text.endswith(f"</think>\n\n{QUOTED}<|im_end|>\n")


@every_implementation
def test_d5_rows_with_nothing_to_learn(renderings: Renderings, name: str) -> None:
    """Rows of 27, 28, … 31 ids at length 27 are cut as D1 at 27, 26, … 23 is: 3, 3, 2, 1 and 0 targets."""
    records, counts = renderings.of(name, length=27)
    for extra, targets in ((0, 3), (1, 3), (2, 2), (3, 1)):
        ids, labels = records[extra].ids, records[extra].labels
        assert ids is not None and labels is not None and len(ids) == len(labels) == 27
        assert labels.count("1") == targets and ids[23 + extra :] == D1[23 : 27 - extra], extra
    assert records[4].rejected == "no_label" and records[4].ids is None
    assert counts == {"accepted": 4, "rejected": {"no_label": 1}, "markers": 0}


@pytest.fixture(scope="module")
def narrow(qwen3: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A model of the real vocabulary, 8 wide, that trains for one update on one record of case D1."""
    folder = tmp_path_factory.mktemp("narrow")
    vocabulary, _ = read_vocabulary(qwen3 / "tokenizer.json")
    shape = Shape(layers=1, hidden=8, intermediate=8, heads=2, kv_heads=1, head_dim=4)
    model = write_model(folder / "model", shape, vocabulary, random_weights(shape, vocabulary))
    values = load_spec("micro").values
    spec = Spec("narrow", {**values, "updates": 1, "warmup_updates": 0, "batch": 2, "length": 27})
    make_initial_adapter(model, spec.values, folder / "adapter")
    good = write_records(folder / "good.jsonl", {**QUESTION, "answer": "Yes."})
    return Place(spec, model, qwen3, good, good, folder / "adapter")


@every_implementation
def test_d5_an_empty_row_costs_nothing(crew: Crew, narrow: Place, name: str, tmp_path: Path) -> None:
    """A good row beside an empty one gives the good row's loss and gradient; and D1's batch digest."""
    both = write_records(
        tmp_path / "both.jsonl",
        {**QUESTION, "answer": "Yes."},
        {"question": "long " * 40, "answer": "No."},
    )
    alone = crew.train(name, narrow)
    beside = crew.train(name, narrow, train=str(both))
    assert alone.data.rejected == {} and beside.data.rejected == {"no_label": 1}
    assert alone.bits() == beside.bits()
    step = alone.steps[1]
    assert (step.records, step.tokens, step.labels, step.batch_digest) == (1, 27, 3, DIGEST_OF_D1)
    assert np.isfinite(step.loss) and step.gradient_norm > 0


@every_implementation
def test_d5_only_empty_rows_is_an_error(crew: Crew, narrow: Place, name: str, tmp_path: Path) -> None:
    empty = write_records(tmp_path / "empty.jsonl", {"question": "long " * 40, "answer": "No."})
    keys = narrow.train_keys(tmp_path / "out", train=str(empty))
    error = crew.refusal(name, "train", **keys)
    assert error.status == "record" and "empty.jsonl" in error.message + error.where
