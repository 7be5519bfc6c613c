"""Cases E1, E3, E4, E6, E7, F3, F4 and J5 in a run of every trainer, on the embedded default at `micro`."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from crew import EMBEDDED, Crew, Place, TrainingRun, every_implementation
from hexapla.data.adapter import read_shape, tensor_shapes
from hexapla.data.order import epoch_order
from hexapla.protocol import Evaluation, Event, Record, Step
from hexapla.spec import load_spec
from models import EMBEDDING, HEAD, read_bfloat16, widened, write_model
from safetensors.numpy import load_file

# The cases' own tolerance for f32.
F32 = 1e-6
# SPEC's bounds between two roundings of one run, as a run of `tiny` is held to them.
LOSS_BOUND, NORM_BOUND = 2e-5, 2e-5


def rendered(crew: Crew, place: Place, file: Path, name: str = "oracle") -> list[Record]:
    """A file's records as one implementation renders them."""
    keys = {"tokenizer": str(place.tokenizer), "records": str(file)}
    answer = crew.ask(name, "render", **keys, template=place.spec["template"], length=place.spec["length"])
    return [event for event in answer.events if isinstance(event, Record)]


def label_counts(crew: Crew, name: str, place: Place, file: Path) -> list[int]:
    """Labels of each accepted record, in file order."""
    return [each.labels.count("1") for each in rendered(crew, place, file, name) if each.labels is not None]


@every_implementation
def test_e1_one_divisor_an_update(crew: Crew, micro: Place, name: str) -> None:
    """Update 1's loss is the base model's NLL of its records over their labels, however they are split."""
    labels = label_counts(crew, name, micro, micro.train)
    base = crew.evaluate(name, micro, None, heldout=str(micro.train))

    def mean(records: list[int]) -> float:
        return math.fsum(base.record_nll[i] for i in records) / sum(labels[i] for i in records)

    def first(seed: int) -> list[int]:
        return epoch_order(seed, 0, len(labels))[: micro.spec["batch"]]

    # An order whose first two micro-batches weigh so differently that a mean of means shows.
    seed = next(
        seed
        for seed in range(1, 100)
        if abs((mean(first(seed)[:2]) + mean(first(seed)[2:])) / 2 / mean(first(seed)) - 1) > 1e4 * F32
    )
    place = micro.with_spec(seed=seed)
    for split in (1, 2, 4):
        step = crew.train(name, place.with_spec(micro_batch=split), stop_after=1).steps[1]
        assert step.labels == sum(labels[i] for i in first(seed))
        assert step.loss == pytest.approx(mean(first(seed)), rel=F32)


@every_implementation
def test_e1_another_split_changes_rounding_only(crew: Crew, micro: Place, name: str) -> None:
    """Losses and gradient norms of a whole run; E2's short last batch at every epoch's end is among them."""
    runs = [crew.train(name, micro.with_spec(micro_batch=split)) for split in (1, 2, 4)]
    assert [step.records for step in runs[0].steps.values()] == [4, 4, 4, 4, 2, 4, 4, 4, 4, 2, 4, 4]
    for run in runs:
        for k, step in runs[1].steps.items():
            other = run.steps[k]
            assert (other.batch_digest, other.labels, other.epoch) == (
                step.batch_digest,
                step.labels,
                step.epoch,
            )
            assert other.loss == pytest.approx(step.loss, rel=LOSS_BOUND)
            assert other.gradient_norm == pytest.approx(step.gradient_norm, rel=NORM_BOUND)


@every_implementation
def test_e3_schedule(crew: Crew, micro: Place, name: str) -> None:
    """Base rate a power of two, so that f32 keeps the case's fractions; window of 4 micro-batches."""
    base = 2.0**-10
    place = micro.with_spec(
        learning_rate=base, warmup_updates=2, updates=6, decay="linear", decay_floor=0, micro_batch=1
    )
    steps = crew.train(name, place).steps
    assert [step.learning_rate / base for step in steps.values()] == [0.5, 1, 0.75, 0.5, 0.25, 0]


@every_implementation
def test_e4_the_norm_is_reported_before_the_clip(crew: Crew, micro: Place, name: str) -> None:
    steps = crew.train(name, micro).steps.values()
    limit = micro.spec["clip_norm"]
    assert [step.clipped for step in steps] == [step.gradient_norm > limit for step in steps]
    assert {step.clipped for step in steps} == {True, False}


@every_implementation
def test_e6_only_the_adapter_is_trained(crew: Crew, micro: Place, name: str) -> None:
    """A run's last evaluation equals that of its saved adapter on the stored base: no frozen tensor moved."""
    run = crew.train(name, micro)
    last = run.checkpoints[micro.spec["updates"]]
    fresh = crew.evaluate(name, micro, Path(last.path))
    seen = run.evaluations[last.step]
    assert fresh.adapter_digest == seen.adapter_digest == last.adapter_digest
    if name == "oracle":  # it goes on in float64, and a saved adapter is f32
        assert fresh.record_nll == pytest.approx(seen.record_nll, rel=F32)
    else:
        assert replace(fresh, id="", step=0) == replace(seen, id="", step=0)
    shapes = tensor_shapes(read_shape(micro.model), micro.spec.values)
    stored = load_file(Path(last.path) / "adapter_model.safetensors")
    assert {key: values.shape for key, values in stored.items()} == shapes
    assert {values.dtype for values in stored.values()} == {np.dtype(np.float32)}
    moments = load_file(Path(last.path) / "optimizer.safetensors")
    assert moments.keys() == {f"{kind}.{key}" for kind in ("exp_avg", "exp_avg_sq") for key in shapes}
    config = "adapter_config.json"
    assert (Path(last.path) / config).read_bytes() == (micro.adapter / config).read_bytes()


def test_e6_names_at_full_shape() -> None:
    """Rank 16 on the published model: 392 tensors, 10,092,544 values."""
    shape = replace(
        read_shape(EMBEDDED / "model"),
        layers=28,
        hidden=1024,
        intermediate=3072,
        heads=16,
        kv_heads=8,
        head_dim=128,
    )
    shapes = tensor_shapes(shape, load_spec("full").values)
    assert len(shapes) == 392
    assert sum(rows * columns for rows, columns in shapes.values()) == 10_092_544


@every_implementation
def test_e7_evaluation_by_any_batch_size(crew: Crew, micro: Place, name: str) -> None:
    """Total over targets; another split changes rounding only."""
    labels = label_counts(crew, name, micro, micro.heldout)
    adapter = Path(crew.train(name, micro).checkpoints[micro.spec["updates"]].path)
    seen = [
        crew.evaluate(name, micro.with_spec(micro_batch=size, batch=max(4, size)), adapter)
        for size in (1, 2, 4, 6)
    ]
    for evaluation in seen:
        running = 0.0
        for nll in evaluation.record_nll:
            running += nll
        assert evaluation.labels == sum(labels) and evaluation.total == running
        assert evaluation.loss == evaluation.total / evaluation.labels
        assert evaluation.record_nll == pytest.approx(seen[0].record_nll, rel=F32)
    means = [nll / count for nll, count in zip(seen[0].record_nll, labels, strict=True)]
    assert abs(sum(means) / len(means) - seen[0].loss) > 1e3 * F32 * seen[0].loss, "cannot tell the fault"


@every_implementation
def test_f3_evaluation_uses_the_adapter(crew: Crew, micro: Place, name: str) -> None:
    place = micro.with_spec(evaluate_every=1)
    evaluations = crew.train(name, place).evaluations
    assert list(evaluations) == list(range(place.spec["updates"] + 1))
    base = crew.evaluate(name, place, None)
    assert not base.adapter and base.adapter_digest is None
    assert evaluations[0].total == pytest.approx(base.total, rel=F32)
    assert abs(evaluations[1].total / base.total - 1) > 1e2 * F32
    assert all(evaluation.adapter for evaluation in evaluations.values())
    digests = [evaluation.adapter_digest for evaluation in evaluations.values()]
    assert len(set(digests)) == len(digests) and None not in digests


@every_implementation
def test_f4_first_update_moves_b_alone(crew: Crew, micro: Place, name: str) -> None:
    """B is zero, so A's gradient is: without decay A keeps every bit, and its moments stay zero."""
    run = crew.train(name, micro.with_spec(weight_decay=0), stop_after=1)
    assert run.done["stopped"] is True and run.done["step"] == 1
    folder = Path(run.checkpoints[1].path)
    before = load_file(micro.adapter / "adapter_model.safetensors")
    after, moments = (
        load_file(folder / "adapter_model.safetensors"),
        load_file(folder / "optimizer.safetensors"),
    )
    assert after.keys() == before.keys()
    for key, values in after.items():
        if key.endswith("lora_A.weight"):
            assert values.tobytes() == before[key].tobytes(), key
            assert not moments[f"exp_avg.{key}"].any() and not moments[f"exp_avg_sq.{key}"].any(), key
        else:
            assert not before[key].any() and values.any() and moments[f"exp_avg.{key}"].any(), key


@every_implementation
def test_f2_a_checkpoint_means_the_same_elsewhere(crew: Crew, micro: Place, name: str) -> None:
    """What one implementation saved, the reference evaluates to the same losses."""
    run = crew.train(name, micro)
    last = max(run.checkpoints)
    other = crew.evaluate("oracle", micro, Path(run.checkpoints[last].path))
    assert other.adapter_digest == run.checkpoints[last].adapter_digest
    assert other.total == pytest.approx(run.evaluations[last].total, rel=F32)


@every_implementation
def test_j5_evaluations_change_nothing(crew: Crew, micro: Place, name: str) -> None:
    """Losses, norms and adapter are bit-identical with an evaluation at every update and with none."""
    often = crew.train(name, micro.with_spec(evaluate_every=1))
    never = crew.train(name, micro.with_spec(evaluate_every=10**6))
    assert list(never.evaluations) == [0, micro.spec["updates"]]
    assert len(often.evaluations) == micro.spec["updates"] + 1

    def learnt(run: TrainingRun) -> list[Event]:
        return [event for event in run.bits() if not isinstance(event, Evaluation)]

    assert learnt(often) == learnt(never)


@every_implementation
@pytest.mark.parametrize("save_every", [1, 100])
def test_d5_not_finite_ends_the_run(
    crew: Crew, micro: Place, name: str, tmp_path: Path, save_every: int
) -> None:
    """One embedding row of NaN, whose token one training record alone has: its update is named and leaves
    neither event nor file, and what was saved before it stays.
    """
    place, fatal = poisoned(crew, micro.with_spec(save_every=save_every, evaluate_every=100), tmp_path)
    assert fatal > 1, "the fault must not come at once"
    error = crew.refusal(name, "train", **place.train_keys(tmp_path / "out"))
    assert error.status == "non_finite" and f"update {fatal}" in f"{error.where} {error.message}"
    steps = [event.step for event in crew.heard if isinstance(event, Step)]
    assert steps == list(range(1, fatal))
    saved = sorted(path.name for path in (tmp_path / "out").glob("*"))
    assert saved == ([f"checkpoint-{k:06d}" for k in range(1, fatal)] if save_every == 1 else [])


def poisoned(crew: Crew, place: Place, folder: Path) -> tuple[Place, int]:
    """The place with an untied head and one bad embedding row; the update that meets it first."""
    held = {token for record in rendered(crew, place, place.heldout) for token in record.ids or ()}
    train = [record for record in rendered(crew, place, place.train) if record.ids]
    order = epoch_order(place.spec["seed"], 0, len(train))
    batches = [
        order[start : start + place.spec["batch"]] for start in range(0, len(train), place.spec["batch"])
    ]
    seen = {token for i in batches[0] for token in train[i].ids or ()} | held
    fatal, token = next(
        (number, min(new))
        for number, batch in enumerate(batches, start=1)
        if (new := {token for i in batch for token in train[i].ids or ()} - seen)
    )
    stored = {name: widened(bits) for name, bits in read_bfloat16(place.model).items()}
    stored[HEAD] = stored[EMBEDDING].copy()
    stored[EMBEDDING][token] = np.nan
    model = write_model(folder / "model", read_shape(place.model), len(stored[HEAD]), stored, tied=False)
    return replace(place, model=model), fatal
