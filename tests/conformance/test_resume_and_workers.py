"""Case E5 in whole runs; and that neither workers nor the language change a bit of what core computes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from crew import CORE_DRIVEN, Crew, Place, every_core_driven, every_implementation
from safetensors.numpy import load_file, save_file


@every_implementation
def test_e5_resume_is_no_interruption(crew: Crew, micro: Place, name: str) -> None:
    """Stopped in the middle of an epoch, where neither an evaluation nor a checkpoint is due."""
    stop = 7
    whole = crew.train(name, micro)
    before = crew.train(name, micro, stop_after=stop)
    assert before.done["stopped"] is True and list(before.steps) == list(range(1, stop + 1))
    assert list(before.checkpoints) == [4, stop]
    after = crew.train(name, micro, resume_from=before.checkpoints[stop].path)
    assert list(after.steps) == list(range(stop + 1, micro.spec["updates"] + 1))
    assert 0 not in after.evaluations and after.done == {**after.done, "stopped": False}
    digests = [step.batch_digest for step in whole.steps.values()]
    assert [step.batch_digest for step in (before.steps | after.steps).values()] == digests
    assert all(each in whole.bits() for each in before.bits() if each.step != stop or hasattr(each, "loss"))
    assert after.bits() == whole.bits(after=stop)


@every_core_driven
def test_e5_twenty_updates(crew: Crew, micro: Place, name: str) -> None:
    """20 updates, and 10 + resume + 10, on cpu: bit-identical."""
    place = micro.with_spec(updates=20)
    whole = crew.train(name, place)
    half = crew.train(name, place, stop_after=10)
    rest = crew.train(name, place, resume_from=half.checkpoints[10].path)
    assert rest.bits() == whole.bits(after=10)
    assert (half.steps | rest.steps).keys() == whole.steps.keys()


@every_implementation
def test_e5_what_a_resume_refuses(crew: Crew, micro: Place, name: str, tmp_path: Path) -> None:
    """Another specification, a tensor or the counter missing, the end already reached; each by name."""
    run = crew.train(name, micro)
    good = Path(run.checkpoints[8].path)

    def refused(place: Place, folder: Path, **changes: object) -> tuple[str, str]:
        keys = place.train_keys(tmp_path / "out", resume_from=str(folder), **changes)
        error = crew.refusal(name, "train", **keys)
        return error.status, f"{error.message} {error.where}"

    other = micro.with_spec(weight_decay=0.02)
    status, words = refused(other, good)
    assert status == "checkpoint" and micro.spec.digest in words and other.spec.digest in words
    first = next(key for key in load_file(good / "optimizer.safetensors") if key.startswith("exp_avg_sq."))
    status, words = refused(micro, without(good, tmp_path / "short", tensor=first))
    assert status == "checkpoint" and first in words
    status, words = refused(micro, without(good, tmp_path / "uncounted", metadata="update"))
    assert status == "checkpoint" and "update" in words
    status, _ = refused(micro, Path(run.checkpoints[12].path))
    assert status == "request"
    status, words = refused(micro, good, stop_after=8)
    assert status == "request" and "stop_after" in words


def without(folder: Path, place: Path, tensor: str = "", metadata: str = "") -> Path:
    """A copy of a checkpoint whose optimizer file lacks one tensor, or one entry of its metadata."""
    copy = place / folder.name
    shutil.copytree(folder, copy)
    file = copy / "optimizer.safetensors"
    raw = file.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    kept = {key: value for key, value in header["__metadata__"].items() if key != metadata}
    tensors = {key: values for key, values in load_file(file).items() if key != tensor}
    save_file(tensors, file, kept)
    return copy


@every_implementation
def test_checkpoints_are_never_overwritten(crew: Crew, micro: Place, name: str, tmp_path: Path) -> None:
    """One that is in the way is an `io` error before the first update; a left-over partial one is removed."""
    (tmp_path / "checkpoint-000008").mkdir()
    (tmp_path / "checkpoint-000008" / "kept").write_text("mine", "utf-8")
    error = crew.refusal(name, "train", **micro.train_keys(tmp_path))
    assert error.status == "io" and "checkpoint-000008" in f"{error.message} {error.where}"
    assert not [event for event in crew.heard if hasattr(event, "batch_digest")]
    assert (tmp_path / "checkpoint-000008" / "kept").read_text("utf-8") == "mine"
    shutil.rmtree(tmp_path / "checkpoint-000008")
    (tmp_path / "checkpoint-000001.partial").mkdir()
    crew.ask(name, "train", **micro.train_keys(tmp_path, stop_after=1))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000001"]


@every_core_driven
@pytest.mark.parametrize("threads", [2, 4])
def test_workers_change_no_bit(crew: Crew, micro: Place, name: str, threads: int) -> None:
    """Every loss, norm, evaluation, adapter and optimizer digest of 1, 2 and 4 workers."""
    assert crew.train(name, micro, threads=threads).bits() == crew.train(name, micro).bits()


def test_core_driven_agree_bit_for_bit(crew: Crew, micro: Place) -> None:
    """The same core under every language: nothing may differ at all."""
    first, *others = (crew.train(name, micro) for name in CORE_DRIVEN)
    for other in others:
        assert other.data.train == first.data.train == 18
        assert other.bits() == first.bits()


@pytest.mark.slow
def test_core_driven_agree_on_the_tiny_run(crew: Crew, tmp_path: Path) -> None:
    """The whole default run, also with two workers: a size at which work is really shared out."""
    tiny = Place.embedded(tmp_path, "tiny")
    first, *others = (crew.train(name, tiny) for name in CORE_DRIVEN)
    for other in [*others, crew.train("c", tiny, threads=2)]:
        assert other.bits() == first.bits()
