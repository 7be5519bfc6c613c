"""The oracle's checkpoints: resuming to the bit (E5), refusals, and what must not be overwritten."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from oracle_support import ask, of_kind, without_time, write_run
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def test_resume_is_bit_identical(tmp_path: Path) -> None:
    """E5: stopped between two regular saves and resumed, every later event equals that of one run."""
    keys = write_run(tmp_path)
    whole = without_time(ask("train", **keys))
    first = ask("train", **keys | {"output": str(tmp_path / "first"), "stop_after": 4})
    assert first[-1]["stopped"] is True and first[-1]["step"] == 4
    assert [event["step"] for event in of_kind(first, "checkpoint")] == [3, 4]
    resumed = {"resume_from": str(tmp_path / "first/checkpoint-000004"), "output": str(tmp_path / "second")}
    second = without_time(ask("train", **keys | resumed))
    assert second[0]["event"] == "data"
    later = next(
        index for index, event in enumerate(whole) if event["event"] == "step" and event["step"] == 5
    )
    assert second[1:] == whole[later:]


def test_what_the_files_say_counts_on_resume(tmp_path: Path) -> None:
    """A checkpoint of float32 files alone resumes, and edited moments are used, not the unrounded twin's."""
    keys = write_run(tmp_path, updates=4, save_every=2)
    whole = of_kind(ask("train", **keys), "step")[-1]
    origin = tmp_path / "output/checkpoint-000002"
    (origin / "oracle_float64.safetensors").rename(tmp_path / "kept")
    resumed = {"resume_from": str(origin), "stop_after": 3}
    plain = of_kind(ask("train", **keys | resumed | {"output": str(tmp_path / "plain")}), "checkpoint")[-1]
    (tmp_path / "kept").rename(origin / "oracle_float64.safetensors")
    with safe_open(origin / "optimizer.safetensors", "np") as stored:
        metadata = stored.metadata()
    moments = load_file(origin / "optimizer.safetensors")
    save_file(
        {name: np.zeros_like(v) for name, v in moments.items()}, origin / "optimizer.safetensors", metadata
    )
    lost = of_kind(ask("train", **keys | resumed | {"output": str(tmp_path / "lost")}), "checkpoint")[-1]
    assert whole["step"] == 4 and plain["adapter_digest"] != lost["adapter_digest"]


@pytest.mark.parametrize("fault", ["spec_digest", "missing", "update"])
def test_a_bad_checkpoint_is_refused(tmp_path: Path, fault: str) -> None:
    keys = write_run(tmp_path, updates=4, save_every=2)
    ask("train", **keys | {"stop_after": 2})
    origin = tmp_path / "output/checkpoint-000002"
    moments = load_file(origin / "optimizer.safetensors")
    metadata = {"spec_digest": "d" * 64, "update": "2"}
    if fault == "missing":
        del moments[next(iter(moments))]
    elif fault == "update":
        metadata["update"] = "two"
    else:
        metadata["spec_digest"] = "e" * 64
    save_file(moments, origin / "optimizer.safetensors", metadata)
    (event,) = ask("train", **keys | {"resume_from": str(origin), "output": str(tmp_path / "other")})
    assert (event["event"], event["status"]) == ("error", "checkpoint")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(("stop_after", "resumed"), [(0, False), (5, False), (2, True), (1, True)])
def test_an_impossible_stop_is_refused(tmp_path: Path, stop_after: int, resumed: bool) -> None:
    keys = write_run(tmp_path, updates=4, save_every=2)
    if resumed:
        ask("train", **keys | {"stop_after": 2})
        keys |= {"resume_from": str(tmp_path / "output/checkpoint-000002")}
    (event,) = ask("train", **keys | {"stop_after": stop_after})
    assert (event["status"], event["where"]) == ("request", "stop_after")


def test_resuming_a_finished_run_is_refused(tmp_path: Path) -> None:
    keys = write_run(tmp_path, updates=2)
    ask("train", **keys)
    (event,) = ask("train", **keys | {"resume_from": str(tmp_path / "output/checkpoint-000002")})
    assert (event["status"], event["where"]) == ("request", "resume_from")


def test_an_existing_checkpoint_is_not_overwritten(tmp_path: Path) -> None:
    """Refused before the first update; a left-over partial folder is removed instead."""
    keys = write_run(tmp_path, updates=2)
    (tmp_path / "output/checkpoint-000002").mkdir(parents=True)
    (event,) = ask("train", **keys)
    assert (event["event"], event["status"]) == ("error", "io")
    assert not list((tmp_path / "output/checkpoint-000002").iterdir())
    shutil.move(tmp_path / "output/checkpoint-000002", tmp_path / "output/checkpoint-000002.partial")
    (tmp_path / "output/checkpoint-000002.partial/left").write_text("over")
    assert ask("train", **keys)[-1]["event"] == "done"
    assert not (tmp_path / "output/checkpoint-000002.partial").exists()
    assert not (tmp_path / "output/checkpoint-000002/left").exists()
