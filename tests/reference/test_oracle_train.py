"""The oracle's `train` and `evaluate`: order of events, CASES as runs, checkpoints, stopping, refusals."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_support import CONTEXT, ask, of_kind, request, without_time, write_adapter, write_run
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def float_of(bits: str) -> float:
    (value,) = struct.unpack(">d", bytes.fromhex(bits.removeprefix("0x")))
    return float(value)


def evaluate_keys(keys: dict[str, Any], adapter: str | None) -> dict[str, Any]:
    return {key: keys[key] for key in ("spec", "model", "tokenizer", "heldout", "context")} | {
        "adapter": adapter
    }


def test_a_whole_run(tmp_path: Path) -> None:
    """The order of events, epochs and short batches, bits beside numbers, the files of a checkpoint."""
    keys = write_run(tmp_path)
    events = ask("train", **keys)
    kinds = [(event["event"], event.get("step")) for event in events]
    assert kinds == [
        *(("data", None), ("evaluation", 0), ("step", 1), ("step", 2), ("evaluation", 2), ("step", 3)),
        *(("checkpoint", 3), ("step", 4), ("evaluation", 4), ("step", 5), ("step", 6), ("evaluation", 6)),
        *(("checkpoint", 6), ("done", 6)),
    ]
    assert events[0] == {"id": "r", "event": "data", "train": 10, "heldout": 5, "rejected": {}, "markers": 0}
    steps = of_kind(events, "step")
    assert [(step["epoch"], step["records"]) for step in steps] == [
        (0, 4),
        (0, 4),
        (0, 2),
        (1, 4),
        (1, 4),
        (1, 2),
    ]
    for step in steps:
        for key in ("loss", "gradient_norm", "learning_rate"):
            assert float_of(step[f"{key}_bits"]) == step[key]
        assert step["clipped"] == (step["gradient_norm"] > 1.0)
    assert events[-1] == {
        **{"id": "r", "event": "done", "step": 6, "stopped": False},
        **{"device_bytes_peak": None, "handles_live": None},
    }
    for checkpoint in of_kind(events, "checkpoint"):
        folder = Path(checkpoint["path"])
        assert folder == tmp_path / "output" / f"checkpoint-{checkpoint['step']:06d}"
        adapter, names = (
            load_file(folder / "adapter_model.safetensors"),
            list(load_file(tmp_path / "adapter" / "adapter_model.safetensors")),
        )
        assert set(adapter) == set(names)
        assert (folder / "adapter_config.json").read_bytes() == (
            tmp_path / "adapter/adapter_config.json"
        ).read_bytes()
        with safe_open(folder / "optimizer.safetensors", "np") as optimizer:
            assert optimizer.metadata() == {"update": str(checkpoint["step"]), "spec_digest": "d" * 64}
            assert len(list(optimizer.keys())) == 2 * len(adapter)
    assert not list((tmp_path / "output").glob("*.partial"))


def adapter_order(folder: Path) -> list[str]:
    """Layer; q, k, v, o, gate, up, down; A, B."""
    projections = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

    def place(name: str) -> tuple[int, int, str]:
        parts = name.split(".")
        return int(parts[4]), projections.index(parts[6]), parts[7]

    return sorted(load_file(folder / "adapter_model.safetensors"), key=place)


def test_digests_are_of_the_files(tmp_path: Path) -> None:
    keys = write_run(tmp_path, updates=1)
    (checkpoint,) = of_kind(ask("train", **keys), "checkpoint")
    folder = Path(checkpoint["path"])
    adapter = load_file(folder / "adapter_model.safetensors")
    moments = load_file(folder / "optimizer.safetensors")
    order = adapter_order(folder)
    joined = b"".join(adapter[name].tobytes() for name in order)
    assert checkpoint["adapter_digest"] == hashlib.sha256(joined).hexdigest()
    joined = b"".join(
        moments[f"{kind}.{name}"].tobytes() for name in order for kind in ("exp_avg", "exp_avg_sq")
    )
    assert checkpoint["optimizer_digest"] == hashlib.sha256(joined).hexdigest()


def test_the_adapter_before_and_after_the_first_update(tmp_path: Path) -> None:
    """F3, F4: update 0 equals the base model's loss; then A is unchanged, B moved and every digest is new."""
    keys = write_run(tmp_path, updates=2, evaluate_every=1, save_every=1, weight_decay=0.0)
    events = ask("train", **keys)
    evaluations = of_kind(events, "evaluation")
    (base, _) = ask("evaluate", **evaluate_keys(keys, None))
    assert base["adapter"] is False and base["adapter_digest"] is None
    assert base["record_nll"] == evaluations[0]["record_nll"]
    assert len({evaluation["adapter_digest"] for evaluation in evaluations}) == 3
    assert len({evaluation["loss"] for evaluation in evaluations}) == 3
    before = load_file(tmp_path / "adapter/adapter_model.safetensors")
    after = load_file(tmp_path / "output/checkpoint-000001/adapter_model.safetensors")
    for name, values in before.items():
        assert np.array_equal(values, after[name]) == ("lora_A" in name)
    (again, _) = ask("evaluate", **evaluate_keys(keys, str(tmp_path / "output/checkpoint-000002")))
    # The saved adapter is rounded to float32, the running one is not.
    assert again["loss"] == pytest.approx(evaluations[2]["loss"], rel=1e-7)
    assert again["adapter_digest"] == evaluations[2]["adapter_digest"]


def test_the_schedule(tmp_path: Path) -> None:
    """E3: linear to zero, read from the first update on, one step an update."""
    keys = write_run(tmp_path, learning_rate=1.0, warmup_updates=2, decay="linear", decay_floor=0, updates=6)
    steps = of_kind(ask("train", **keys), "step")
    assert [step["learning_rate"] for step in steps] == [0.5, 1, 0.75, 0.5, 0.25, 0]


def test_the_learning_rates_bits() -> None:
    """SPEC's check values for `tiny` and `full`."""
    from hexapla.reference.oracle.config import Spec  # noqa: PLC0415 -- one use
    from hexapla.reference.oracle.optimizer import learning_rate  # noqa: PLC0415
    from oracle_support import SPEC  # noqa: PLC0415

    tiny = Spec.read(SPEC | {"updates": 60, "warmup_updates": 2})
    full = Spec.read(SPEC | {"updates": 10536, "warmup_updates": 317, "learning_rate": 2e-4})
    expected = {
        (tiny, 1): "3f50624de0000000", (tiny, 3): "3f605f8940000000", (tiny, 31): "3f5205bc00000000",
        (tiny, 60): "3f2a36e2e0000000", (full, 5000): "3f1feba180000000",
    }  # fmt: skip
    for (spec, update), bits in expected.items():
        assert struct.pack(">d", learning_rate(spec, update)).hex() == bits


@pytest.mark.parametrize("micro_batch", [1, 3, 4])
def test_another_split_changes_rounding_only(tmp_path: Path, micro_batch: int) -> None:
    """E1, E7: one divisor for the whole update, one for all held-out labels, whatever the split."""
    base = ask("train", **write_run(tmp_path / "base", micro_batch=2))
    other = ask("train", **write_run(tmp_path / "other", micro_batch=micro_batch))
    for kind, keys in (("step", ("loss", "gradient_norm")), ("evaluation", ("loss", "total"))):
        for left, right in zip(of_kind(base, kind), of_kind(other, kind), strict=True):
            for key in keys:
                assert right[key] == pytest.approx(left[key], rel=1e-11)


def test_threads_and_evaluations_change_no_bit(tmp_path: Path) -> None:
    """J5: losses are bit-identical with evaluations at every update and with few, on one thread or three."""
    base = of_kind(ask("train", **write_run(tmp_path / "a", evaluate_every=1)), "step")
    keys = write_run(tmp_path / "b", evaluate_every=6) | {"context": CONTEXT | {"threads": 3}}
    other = of_kind(ask("train", **keys), "step")
    assert without_time(base) == without_time(other)


def test_totals_are_sums_in_order(tmp_path: Path) -> None:
    """E7: the total is the running sum of the records' NLLs, the loss its quotient by the labels."""
    keys = write_run(tmp_path)
    (event, done) = ask("evaluate", **evaluate_keys(keys, keys["adapter"]))
    total = 0.0
    for nll in event["record_nll"]:
        total += nll
    assert (event["step"], event["total"], event["loss"]) == (0, total, total / event["labels"])
    assert done == {"id": "r", "event": "done"}


def test_fewer_targets(tmp_path: Path) -> None:
    """Targets in any order: the adapter holds just these, in adapter order."""
    keys = write_run(tmp_path, targets=["down_proj", "v_proj"], updates=1)
    assert ask("train", **keys)[-1]["event"] == "done"
    assert len(load_file(tmp_path / "output/checkpoint-000001/adapter_model.safetensors")) == 2 * 2 * 2


@pytest.mark.parametrize(
    "fault", ["missing", "unexpected", "prefix", "shape", "layer", "dtype", "alpha", "no_alpha"]
)
def test_a_wrong_adapter_is_refused(tmp_path: Path, fault: str) -> None:
    """H4, F2: counts and first names in one line; nothing is written."""
    keys = write_run(tmp_path)
    path = tmp_path / "adapter/adapter_model.safetensors"
    tensors = load_file(path)
    first = next(name for name in tensors if "lora_A" in name)
    said = ""
    if fault == "missing":
        del tensors[first]
        said = "missing 1 ("
    elif fault == "unexpected":
        tensors["extra"] = np.zeros(1, np.float32)
        said = "unexpected 1 (extra)"
    elif fault == "prefix":
        tensors = {"model." + name: values for name, values in tensors.items()}
        said = "missing 28"
    elif fault == "shape":
        tensors[first] = np.ascontiguousarray(tensors[first].T)
        said = "1 of another shape"
    elif fault == "layer":
        tensors = {name: values for name, values in tensors.items() if ".layers.1." not in name}
        said = "missing 14"
    elif fault == "dtype":
        tensors[first] = tensors[first].astype(np.float16)
        said = "F16"
    else:
        config = {"r": 2, "lora_alpha": 5} if fault == "alpha" else {"r": 2}
        (tmp_path / "adapter/adapter_config.json").write_text(json.dumps(config))
        said = "lora_alpha"
    save_file(tensors, path)
    (event,) = ask("train", **keys)
    assert (event["event"], event["status"]) == ("error", "checkpoint")
    assert said in event["message"] and "\n" not in event["message"]
    assert not (tmp_path / "output").exists()


def test_a_loss_that_is_not_finite_ends_the_run(tmp_path: Path) -> None:
    """The evaluation before update 1 is sent, with words for NaN; no step follows, nothing is saved."""
    keys = write_run(tmp_path)
    path = tmp_path / "adapter/adapter_model.safetensors"
    tensors = load_file(path)
    name = next(name for name in tensors if "lora_A" in name)
    tensors[name][0, 0] = math.nan
    save_file(tensors, path)
    events = ask("train", **keys)
    assert [event["event"] for event in events] == ["data", "evaluation", "error"]
    assert events[1]["loss"] == "NaN" and "NaN" in events[1]["record_nll"]
    assert (events[2]["status"], events[2]["where"]) == ("non_finite", "update 0")
    assert not (tmp_path / "output").exists()


def test_a_gradient_that_is_not_finite_ends_the_run(tmp_path: Path) -> None:
    """Finite losses, a norm that overflows: the step is not reported, the update is named."""
    keys = write_run(tmp_path, learning_rate=1e300, warmup_updates=0, updates=6)
    events = ask("train", **keys)
    assert events[-1]["status"] == "non_finite"
    last = max((event["step"] for event in of_kind(events, "step")), default=0)
    assert events[-1]["where"] in (f"update {last}", f"update {last + 1}")


def test_files_without_an_accepted_record_are_refused(tmp_path: Path) -> None:
    keys = write_run(tmp_path)
    Path(keys["heldout"]).write_text('{"id": "1", "question": "q", "answer": "\\n"}\n')
    (event,) = ask("train", **keys)
    assert (event["status"], event["where"]) == ("record", keys["heldout"]) and "empty 1" in event["message"]


def test_ids_beyond_the_vocabulary_are_refused(tmp_path: Path) -> None:
    (event,) = ask("train", **write_run(tmp_path, vocab_size=258))
    assert (event["event"], event["status"]) == ("error", "tokenizer")


def test_the_end_of_stdin_stops_a_run(tmp_path: Path) -> None:
    """Before the next update: nothing saved, `done` says stopped, the process says bye and ends with 0."""
    keys = write_run(tmp_path, updates=100000, save_every=100000, evaluate_every=100000)
    command = [sys.executable, "-m", "hexapla.reference.oracle"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request("train", **keys))
        process.stdin.flush()
        while json.loads(process.stdout.readline())["event"] != "step":
            pass
        process.stdin.close()
        events = [json.loads(line) for line in process.stdout.read().splitlines()]
        assert process.wait(timeout=30) == 0
    assert events[-1] == {"id": "", "event": "bye", "handles_live": None, "bytes_live": None}
    assert events[-2]["event"] == "done" and events[-2]["stopped"] is True
    assert not (tmp_path / "output").exists()


def test_an_adapter_of_another_rank_is_refused_by_evaluate(tmp_path: Path) -> None:
    keys = write_run(tmp_path)
    other = write_adapter(tmp_path / "other", rank=3)
    (event,) = ask("evaluate", **evaluate_keys(keys, str(other)))
    assert (event["status"], event["where"]) == ("checkpoint", "r")
