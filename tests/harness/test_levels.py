"""Who is blamed for a difference, and what the levels say of answers that are wrong in one known way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hexapla.levels.cases import seeded_cases
from hexapla.levels.exact import exact_cases
from hexapla.levels.level import Finding, Inputs
from hexapla.levels.operators import Computed, Operators, error_ulp, load_record
from hexapla.levels.rendering import Rendered, Rendering
from hexapla.levels.settle import PairVerdict, pairs_of, settle
from hexapla.levels.weights import WeightsError, read_weights, widen
from hexapla.protocol import Outcome, Record
from hexapla.spec import load_spec
from safetensors import safe_open

STACKS = {"torch": "torch", "oracle": "numpy", "c": "core", "python": "core", "go": "core"}
EMBEDDED = Path(__file__).resolve().parents[2] / "harness/hexapla/data/embedded"


def settled(names: Iterable[str], parting: set[str]) -> dict[str, Finding]:
    """All pairs, where who is in `parting` parts from who is not."""
    pairs = [
        PairVerdict(a, b, (a in parting) == (b in parting), f"{a} parts from {b}")
        for a, b in pairs_of(list(names))
    ]
    return settle(list(names), STACKS, pairs)


@pytest.mark.parametrize(
    ("parting", "failing", "axis"),
    [
        (set(), set(), "none"),
        ({"go"}, {"go"}, "orchestration or runtime"),
        ({"c"}, {"c"}, "orchestration or runtime"),
        ({"torch"}, {"torch"}, "ambiguous"),
        ({"oracle"}, {"oracle"}, "ambiguous"),
        ({"c", "python", "go"}, {"c", "python", "go"}, "stack"),
    ],
)
def test_the_odd_one_out_is_blamed(parting: set[str], failing: set[str], axis: str) -> None:
    findings = settled(STACKS, parting)
    assert {name for name, finding in findings.items() if finding.outcome is Outcome.FAIL} == failing
    assert {findings[name].axis for name in failing} == ({axis} if failing else set())
    assert all(finding.outcome in (Outcome.PASS, Outcome.FAIL) for finding in findings.values())


def test_two_that_part_blame_no_reference() -> None:
    findings = settled(["torch", "c"], {"c"})
    assert findings["c"].outcome is Outcome.FAIL and findings["c"].axis == "ambiguous"
    assert findings["torch"].outcome is Outcome.PASS
    assert settled(["c"], set())["c"].outcome is Outcome.UNKNOWN


def test_siblings_on_one_core_do_not_outvote_the_only_reference() -> None:
    """A fault of core makes all its trainers agree; the oracle alone must still fail them."""
    findings = settled(["oracle", "c", "python", "go"], {"c", "python", "go"})
    assert findings["oracle"].outcome is Outcome.PASS
    assert {name for name, each in findings.items() if each.outcome is Outcome.FAIL} == {"c", "python", "go"}


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    records = EMBEDDED / "records/micro"
    return Inputs(
        spec=load_spec("micro"),
        model=EMBEDDED / "model",
        tokenizer=EMBEDDED / "tokenizer",
        train=records / "train.jsonl",
        heldout=records / "heldout.jsonl",
        adapter=tmp_path,
        render_files={"train": records / "train.jsonl"},
        render_length=64,
        headers=EMBEDDED.parents[3] / "core/include",
        work=tmp_path,
    )


RECORDS = [Record("r", "one", ids=[1, 2, 3, 4], labels="0011"), Record("r", "two", rejected="think")]
RENDERED = Rendered(RECORDS, {"think": 1}, 0)


def with_first(**changes: object) -> Rendered:
    return replace(RENDERED, records=[replace(RECORDS[0], **changes), RECORDS[1]])  # type: ignore[arg-type]


REJECTED = replace(RENDERED, records=[RECORDS[0], replace(RECORDS[1], rejected="empty")])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (with_first(ids=[1, 2, 9, 4]), "record one: ids part at position 2"),
        (with_first(ids=[1, 2, 3]), "position 3 of 3 and 4"),
        (with_first(labels="0010"), "label flag 0, not 1, at position 3"),
        (REJECTED, "record two: rejected is empty, not think"),
        (replace(RENDERED, records=RECORDS[:1]), "1 records, not 2"),
        (replace(RENDERED, records=RECORDS[::-1]), "record two: stands where record one is due"),
        (replace(RENDERED, rejected={}), "rejected is {}, not {'think': 1}"),
        (replace(RENDERED, markers=1), "markers is 1, not 0"),
    ],
)
def test_rendering_names_the_first_difference(inputs: Inputs, other: Rendered, words: str) -> None:
    observed = {"torch": {"train": RENDERED}, "oracle": {"train": RENDERED}, "c": {"train": other}}
    findings = Rendering().judge(observed, STACKS, inputs)
    assert findings["torch"].outcome is findings["oracle"].outcome is Outcome.PASS
    assert findings["c"].outcome is Outcome.FAIL
    assert words in findings["c"].reason


def test_weights_are_read_without_help(tmp_path: Path) -> None:
    """Case H3's values, and names sorted with the tied head left out."""
    stored = bytes.fromhex("803F 4940 F7C2 AB3E 80FF 0080 0100".replace(" ", ""))
    right = [1.0, 3.140625, -123.5, 0.333984375, -np.inf, -0.0, 9.183549615799121e-41]
    assert widen(stored, "BF16").tolist() == right
    weights = read_weights(EMBEDDED / "model")
    names = [weight.name for weight in weights]
    assert names == sorted(names, key=str.encode) and "lm_head.weight" not in names
    with safe_open(EMBEDDED / "model/model.safetensors", "np") as file:
        stored_shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    assert {weight.name: weight.shape for weight in weights} == stored_shapes
    (tmp_path / "config.json").write_text("{}", "utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(WeightsError, match="a header of"):
        read_weights(tmp_path)


def test_cases_are_many_and_the_same_each_time() -> None:
    cases = list(seeded_cases())
    assert len(cases) == len({case.name for case in cases}) == 18 * 20
    again = list(seeded_cases())
    for one, other in zip(cases, again, strict=True):
        assert all(one.tensors[name].tobytes() == other.tensors[name].tobytes() for name in one.tensors)
    assert any("strides" in case.attributes for case in cases)
    assert not {each.case.name for each in exact_cases()} & {case.name for case in cases}


def test_error_in_ulp() -> None:
    truth = np.array([1.0, 2.0])
    assert error_ulp(truth.astype(np.float32), truth) == 0
    assert error_ulp(np.array([1, 2 + 2**-22], np.float32), truth) == 1
    assert error_ulp(np.array([np.nan, 2], np.float32), truth) == float("inf")
    assert error_ulp(np.array([1], np.float32), truth) == float("inf")


@pytest.fixture(scope="module")
def truth() -> dict[str, np.ndarray]:
    """A made-up truth of the right names: `judge` looks at differences, not at formulas."""
    rng = np.random.default_rng(7)
    return {
        f"{case.name}.{name}": rng.uniform(1, 2, size=case.expected_shape(name) or (3,))
        for case in seeded_cases()
        for name in case.results
    }


def rounded(truth: dict[str, np.ndarray], wrong: str = "", by: float = 0.0) -> Computed:
    """The truth in f32; the results of one op moved by some ulp of what lies from 1 to 2."""
    results = {}
    for name, values in truth.items():
        moved = by * 2**-23 if wrong and name.startswith(wrong) else 0.0
        results[name] = (values + moved).astype(np.float32)
    return Computed(results, "")


def judged(observed: dict[str, Computed], inputs: Inputs) -> dict[str, Finding]:
    return Operators().judge(observed, STACKS, inputs)


def test_operators_bound_is_torchs_error(truth: dict[str, np.ndarray], inputs: Inputs) -> None:
    """Core may err by 1.5 × torch's error or 2 ulp, and by no more."""
    oracle = Computed(truth, "")
    record = load_record().errors["matmul.output"]
    for factor, outcome in ((1.4, Outcome.PASS), (1.7, Outcome.FAIL)):
        observed = {
            "torch": rounded(truth, "matmul.", record),
            "oracle": oracle,
            "c": rounded(truth, "matmul.", factor * record),
            "python": rounded(truth, "matmul.", factor * record),
        }
        findings = judged(observed, inputs)
        assert findings["c"].outcome is findings["python"].outcome is outcome
        assert findings["torch"].outcome is findings["oracle"].outcome is Outcome.PASS
        if outcome is Outcome.FAIL:
            assert "matmul." in findings["c"].reason and "bound" in findings["c"].reason


def test_operators_blame_the_oracle_when_all_others_agree(
    truth: dict[str, np.ndarray], inputs: Inputs
) -> None:
    """An oracle that is wrong must not pass as the truth."""
    observed = {
        "torch": rounded(truth, "rms_norm.", 1000),
        "oracle": Computed(truth, ""),
        "c": rounded(truth, "rms_norm.", 1000),
        "python": rounded(truth, "rms_norm.", 1000),
    }
    findings = judged(observed, inputs)
    failing = {name for name, finding in findings.items() if finding.outcome is Outcome.FAIL}
    assert failing == {"oracle"}


def test_operators_without_torch_or_oracle(truth: dict[str, np.ndarray], inputs: Inputs) -> None:
    oracle = Computed(truth, "")
    findings = judged({"oracle": oracle, "c": rounded(truth, "linear.", 1000)}, inputs)
    assert findings["c"].outcome is Outcome.FAIL and findings["oracle"].outcome is Outcome.PASS
    assert judged({"c": rounded(truth)}, inputs)["c"].outcome is Outcome.UNKNOWN
    broken = Computed({}, "case G2.softmax: gradient.x is not finite")
    assert judged({"oracle": oracle, "c": broken}, inputs)["c"].outcome is Outcome.FAIL


def test_core_driven_must_have_equal_bits(truth: dict[str, np.ndarray], inputs: Inputs) -> None:
    """A difference far inside the bound, between two trainers on one core."""
    observed = {
        "torch": rounded(truth),
        "oracle": Computed(truth, ""),
        "c": rounded(truth),
        "go": rounded(truth),
        "python": rounded(truth, "add.", 1),
    }
    findings = judged(observed, inputs)
    assert findings["python"].outcome is Outcome.FAIL and "bit for bit" in findings["python"].reason
    assert findings["python"].axis == "orchestration or runtime"
    assert findings["c"].outcome is findings["go"].outcome is Outcome.PASS
