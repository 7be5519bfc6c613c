"""Runs of the torch trainer: event order, SPEC's check values, E3, E5 to E7, F3, F4, J5, checkpoints."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from torch_process import (
    CONFIG,
    CONTEXT,
    DATA,
    SPEC,
    Trainer,
    Workplace,
    adapter_tensors,
    f64_of,
    make_adapter,
    make_model,
    model_tensors,
    write_records,
)

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("peft", reason="peft is not installed")

Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def trainer() -> Iterator[Trainer]:
    running = Trainer()
    yield running
    running.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def whole(trainer: Trainer, place: Workplace) -> Events:
    """One run of six updates that the tests below look at from several sides."""
    return trainer.ask("train", **place.request("whole"))


def named(events: Events, name: str) -> Events:
    return [event for event in events if event["event"] == name]


def without_time(events: Events) -> Events:
    left_out = ("id", "milliseconds", "path")
    return [{key: value for key, value in event.items() if key not in left_out} for event in events]


def evaluate(trainer: Trainer, place: Workplace, **changes: Any) -> dict[str, Any]:
    keys = ("spec", "model", "tokenizer", "heldout", "adapter")
    request = {**{key: place.request("unused")[key] for key in keys}, **changes}
    return trainer.ask("evaluate", **request)[0]


def test_events_come_in_order(whole: Events) -> None:
    order = [(event["event"], event.get("step")) for event in whole]
    assert order == [
        ("data", None),
        ("evaluation", 0),
        ("step", 1),
        ("step", 2),
        ("evaluation", 2),
        ("step", 3),
        ("checkpoint", 3),
        ("step", 4),
        ("evaluation", 4),
        ("step", 5),
        ("step", 6),
        ("evaluation", 6),
        ("checkpoint", 6),
        ("done", 6),
    ]
    assert [event["epoch"] for event in named(whole, "step")] == [0, 0, 0, 1, 1, 1]
    assert [event["records"] for event in named(whole, "step")] == [4, 4, 2, 4, 4, 2]
    assert whole[-1] | {"id": ""} == {
        "id": "",
        "event": "done",
        "step": 6,
        "stopped": False,
        "device_bytes_peak": None,
        "handles_live": None,
    }


def test_numbers_and_their_bits_agree(whole: Events) -> None:
    for event in whole:
        for key, value in event.items():
            if key.endswith("_bits"):
                assert f64_of(value) == event[key.removesuffix("_bits")]


def test_order_and_digest_follow_the_check_values(
    trainer: Trainer, place: Workplace, whole: Events, tmp_path: Path
) -> None:
    """Seed 1, n = 10: epoch 0 is 9 7 4 0 3 8 2 5 1 6, epoch 1 is 1 6 3 2 4 5 9 8 0 7; FNV by hand."""
    path = str(place.train)
    *records, _ = trainer.ask(
        "render", tokenizer=str(place.tokenizer), records=path, template="qwen3", length=SPEC["length"]
    )
    orders = [9, 7, 4, 0, 3, 8, 2, 5, 1, 6], [1, 6, 3, 2, 4, 5, 9, 8, 0, 7]
    batches = [order[start : start + 4] for order in orders for start in (0, 4, 8)]
    for step, batch in zip(named(whole, "step"), batches, strict=True):
        assert step["batch_digest"] == fnv([records[index] for index in batch])
        assert step["tokens"] == sum(len(records[index]["ids"]) for index in batch)
        assert step["labels"] == sum(records[index]["labels"].count("1") for index in batch)


def fnv(records: Events) -> str:
    digest = 0xCBF29CE484222325
    for record in records:
        ids = np.array([len(record["ids"]), *record["ids"]], dtype="<u4").tobytes()
        for byte in ids + bytes(map(int, record["labels"])):
            digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return f"{digest:016x}"


@pytest.mark.skipif(not DATA.exists(), reason="the data folder (HEXAPLA_DATA) is absent")
def test_batch_digest_of_case_d1(trainer: Trainer, place: Workplace, tmp_path: Path) -> None:
    row = {"id": "a", "question": "Is BP 150/95 high?", "answer": "Yes."}
    path = str(write_records(tmp_path / "one.jsonl", [row]))
    shape = {"vocab_size": 151669, "hidden_size": 4}
    model = make_model(tmp_path / "model", model_tensors({**CONFIG, **shape}), **shape)
    adapter = make_adapter(tmp_path / "adapter", adapter_tensors(SPEC, {**CONFIG, **shape}), SPEC)
    changes = {
        "tokenizer": str(DATA / "tokenizer" / "qwen3-0.6b"),
        "train": path,
        "heldout": path,
        "model": str(model),
        "adapter": str(adapter),
        "stop_after": 1,
    }
    events = trainer.ask("train", **place.request("real", **changes))
    assert named(events, "step")[0]["batch_digest"] == "d07c95059f5dc313"
    assert events[-1]["stopped"] is True


def test_e3_schedule(trainer: Trainer, place: Workplace) -> None:
    spec = {"learning_rate": 1.0, "decay": "linear", "decay_floor": 0.0}
    events = trainer.ask("train", **place.request("linear", spec=spec))
    assert [e["learning_rate"] for e in named(events, "step")] == [0.5, 1, 0.75, 0.5, 0.25, 0]


def test_schedule_bits_of_the_tiny_specification(trainer: Trainer, place: Workplace) -> None:
    spec = {"updates": 60, "learning_rate": 2e-3, "evaluate_every": 100, "save_every": 100}
    events = trainer.ask("train", **place.request("tiny_rates", spec=spec))
    bits = {event["step"]: event["learning_rate_bits"] for event in named(events, "step")}
    assert [bits[k] for k in (1, 3, 31, 60)] == [
        "0x3f50624de0000000",
        "0x3f605f8940000000",
        "0x3f5205bc00000000",
        "0x3f2a36e2e0000000",
    ]


def test_e5_resume_is_bit_identical(trainer: Trainer, place: Workplace, whole: Events) -> None:
    first = trainer.ask("train", **place.request("stopped", stop_after=4))
    assert first[-1]["stopped"] is True
    assert (first[-1]["step"], first[-2]["event"]) == (4, "checkpoint")
    second = trainer.ask("train", **place.request("resumed", resume_from=first[-2]["path"]))
    assert [event["event"] for event in second[:2]] == ["data", "step"]
    expected = [event for event in without_time(whole) if event.get("step", 0) > 4]
    assert without_time(second)[1:] == expected
    last = Path(named(second, "checkpoint")[-1]["path"])
    # Tensor by tensor: the library writes the two metadata keys in any order.
    for file in ("adapter_model.safetensors", "optimizer.safetensors"):
        resumed, straight = (load_file(folder / file) for folder in (last, place.root / "whole" / last.name))
        assert resumed.keys() == straight.keys()
        assert all(resumed[name].tobytes() == straight[name].tobytes() for name in resumed)


def test_f3_f4_the_adapter_counts(trainer: Trainer, place: Workplace, whole: Events) -> None:
    base = evaluate(trainer, place, adapter=None)
    zero, *later = named(whole, "evaluation")
    assert (base["adapter"], base["adapter_digest"]) == (False, None)
    assert math.isclose(zero["loss"], base["loss"], rel_tol=1e-6)
    digests = [event["adapter_digest"] for event in (zero, *later)]
    assert len(set(digests)) == len(digests)
    assert all(event["loss"] != zero["loss"] for event in later)
    saved = named(whole, "checkpoint")[-1]
    reloaded = evaluate(trainer, place, adapter=saved["path"])
    assert without_time([{**reloaded, "step": 6}]) == without_time(later[-1:])
    assert reloaded["adapter_digest"] == saved["adapter_digest"]


def test_f4_after_one_update_a_stays_and_b_moves(trainer: Trainer, place: Workplace) -> None:
    events = trainer.ask("train", **place.request("one", spec={"weight_decay": 0}, stop_after=1))
    before = load_file(place.adapter / "adapter_model.safetensors")
    after = load_file(Path(named(events, "checkpoint")[0]["path"]) / "adapter_model.safetensors")
    assert set(before) == set(after)
    for name, value in after.items():
        assert (value == before[name]).all() == ("lora_A" in name)


def test_j5_evaluation_changes_nothing(trainer: Trainer, place: Workplace, whole: Events) -> None:
    events = trainer.ask("train", **place.request("often", spec={"evaluate_every": 1}))
    assert without_time(named(events, "step")) == without_time(named(whole, "step"))


@pytest.mark.parametrize("micro_batch", [1, 3, 4])
def test_e1_e7_another_split_changes_rounding_only(
    trainer: Trainer, place: Workplace, whole: Events, micro_batch: int
) -> None:
    spec = {"micro_batch": micro_batch}
    events = trainer.ask("train", **place.request(f"split{micro_batch}", spec=spec))
    for name, keys in (("step", ("loss", "gradient_norm")), ("evaluation", ("loss",))):
        for ours, theirs in zip(named(events, name), named(whole, name), strict=True):
            assert all(math.isclose(ours[key], theirs[key], rel_tol=1e-4) for key in keys)
    zero, base = named(events, "evaluation")[0], named(whole, "evaluation")[0]
    np.testing.assert_allclose(zero["record_nll"], base["record_nll"], rtol=1e-6)
    assert zero["loss"] == zero["total"] / zero["labels"]


def test_checkpoint_layout_and_digests(place: Workplace, whole: Events) -> None:
    event = named(whole, "checkpoint")[0]
    folder = Path(event["path"])
    assert sorted(path.name for path in folder.parent.iterdir()) == ["checkpoint-000003", "checkpoint-000006"]
    assert (folder / "adapter_config.json").read_bytes() == (
        place.adapter / "adapter_config.json"
    ).read_bytes()
    adapter = load_file(folder / "adapter_model.safetensors")
    order = list(adapter_tensors(SPEC, CONFIG))
    assert (
        event["adapter_digest"] == hashlib.sha256(b"".join(adapter[n].tobytes() for n in order)).hexdigest()
    )
    optimizer = load_file(folder / "optimizer.safetensors")
    moments = [optimizer[f"{kind}.{n}"] for n in order for kind in ("exp_avg", "exp_avg_sq")]
    joined = b"".join(value.tobytes() for value in moments)
    assert event["optimizer_digest"] == hashlib.sha256(joined).hexdigest()
    assert len(optimizer) == len(moments)
    with safe_open(folder / "optimizer.safetensors", framework="numpy") as file:
        assert file.metadata() == {"update": "3", "spec_digest": "d" * 64}


def test_existing_checkpoints_stop_a_run_and_partial_ones_are_removed(
    trainer: Trainer, place: Workplace
) -> None:
    output = place.root / "left_over"
    (output / "checkpoint-000003.partial").mkdir(parents=True)
    (output / "checkpoint-000003.partial" / "rest").touch()
    request = place.request("left_over", stop_after=3)
    assert trainer.ask("train", **request)[-1]["event"] == "done"
    assert [path.name for path in output.iterdir()] == ["checkpoint-000003"]
    (event,) = trainer.ask("train", **request)
    assert (event["status"], event["where"]) == ("io", str(output / "checkpoint-000003"))


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"spec_digest": "e" * 64}, ("checkpoint", "spec_digest")),
        ({"stop_after": 3}, ("request", "stop_after")),
        ({"stop_after": 7}, ("request", "stop_after")),
    ],
)
def test_a_resume_that_does_not_fit_is_refused(
    trainer: Trainer, place: Workplace, whole: Events, changes: dict[str, Any], refusal: tuple[str, str]
) -> None:
    saved = named(whole, "checkpoint")[0]["path"]
    (event,) = trainer.ask("train", **place.request("refused", resume_from=saved, **changes))
    assert (event["status"], event["where"].split(": ")[-1]) == refusal


def test_a_resume_at_the_end_or_without_a_moment_is_refused(
    trainer: Trainer, place: Workplace, whole: Events, tmp_path: Path
) -> None:
    first, last = (event["path"] for event in named(whole, "checkpoint"))
    (event,) = trainer.ask("train", **place.request("refused", resume_from=last))
    assert (event["status"], event["where"]) == ("request", "resume_from")
    shutil.copytree(first, tmp_path / "broken")
    file = tmp_path / "broken" / "optimizer.safetensors"
    tensors = load_file(file)
    name = next(iter(tensors))
    del tensors[name]
    save_file(tensors, file, {"update": "3", "spec_digest": "d" * 64})
    (event,) = trainer.ask("train", **place.request("refused", resume_from=str(tmp_path / "broken")))
    assert event["status"] == "checkpoint"
    assert f"missing 1 (first {name})" in event["message"]


@pytest.mark.parametrize("change", ["removed", "extra", "prefix", "shape", "layer"])
def test_h4_adapter_names(trainer: Trainer, place: Workplace, tmp_path: Path, change: str) -> None:
    tensors = adapter_tensors(SPEC, CONFIG)
    count, last = len(tensors), list(tensors)[-1]
    match change:
        case "removed":
            expected = [f"missing 1 (first {last})"]
            del tensors[last]
        case "extra":
            expected = ["unexpected 1 (first x)"]
            tensors["x"] = np.zeros(1, dtype="f4")
        case "prefix":
            expected = [f"missing {count}", f"unexpected {count}"]
            tensors = {f"other.{name}": value for name, value in tensors.items()}
        case "shape":
            expected = ["wrong shape 1"]
            tensors[last] = tensors[last].T.copy()
        case _:
            expected = ["missing 14"]
            tensors = {name: value for name, value in tensors.items() if ".layers.1." not in name}
    adapter = make_adapter(tmp_path / "adapter", tensors, SPEC)
    event = evaluate(trainer, place, adapter=str(adapter))
    assert event["status"] == "checkpoint"
    assert all(text in event["message"] for text in expected)


@pytest.mark.parametrize(("key", "value"), [("r", 3), ("lora_alpha", 5)])
def test_an_adapter_config_that_contradicts_the_specification_is_refused(
    trainer: Trainer, place: Workplace, tmp_path: Path, key: str, value: int
) -> None:
    spec = {"rank": SPEC["rank"], "alpha": SPEC["alpha"], {"r": "rank", "lora_alpha": "alpha"}[key]: value}
    adapter = make_adapter(tmp_path / "adapter", adapter_tensors(SPEC, CONFIG), spec)
    event = evaluate(trainer, place, adapter=str(adapter))
    assert event["status"] == "checkpoint"
    assert event["where"].endswith(key)


def test_d5_a_loss_that_is_not_finite_ends_the_run_with_nothing_saved(
    trainer: Trainer, place: Workplace, tmp_path: Path
) -> None:
    tensors = model_tensors(CONFIG)
    tensors["model.norm.weight"][0] = np.nan
    model = make_model(tmp_path / "model", tensors)
    *events, error = trainer.ask("train", **place.request("nan", model=str(model)))
    assert [event["event"] for event in events] == ["data", "evaluation"]
    assert (events[1]["loss"], error["status"], error["where"]) == ("NaN", "non_finite", "update 0")
    assert list((place.root / "nan").iterdir()) == []


def test_the_end_of_input_stops_a_run_before_its_next_update(tmp_path: Path) -> None:
    place, trainer = Workplace(tmp_path), Trainer()
    stdin = trainer.process.stdin
    assert stdin is not None
    endless = {"updates": 10**6, "save_every": 10**6, "evaluate_every": 10**6}
    request = {"protocol": 1, "id": "a", "request": "train", "context": CONTEXT}
    stdin.write(json.dumps(request | place.request("out", spec=endless)).encode() + b"\n")
    stdin.flush()
    events = []
    for event in trainer.events():
        events.append(event)
        if event["event"] == "step":
            stdin.close()
    done = events[-1]
    assert (done["event"], done["stopped"]) == ("done", True)
    assert done["step"] == named(events, "step")[-1]["step"]
    assert list((tmp_path / "out").iterdir()) == []
    assert next(trainer.events())["event"] == "bye"
    assert trainer.process.wait(timeout=60) == 0
