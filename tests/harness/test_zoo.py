"""Every fake of the zoo is named right, in time, leaves no process, and what it said is kept.

The control is `good`: without it the failures could come from the harness. HEXAPLA_ZOO_REPEAT=20, or the
session `zoo`, runs it twenty times; the counts stand at the end of pytest's output.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from fake_device import FakeDeviceGauge
from fake_types import MakeBinding, MakeTrainer
from hexapla.cli import main
from hexapla.commands import participants
from hexapla.process import Limits, Trainer, TrainerFailure, group
from hexapla.protocol import Done, Reason
from hexapla.protocol.results import Line, Outcome, read_results
from hexapla.spec import load_spec
from zoo import REPEATS, ZOO, Fake

TURNS = pytest.mark.parametrize("turn", range(REPEATS))


def words_of(request: str, folder: Path) -> dict[str, Any]:
    """The keys of a request, with a ledger; no fake reads what they name."""
    spec = load_spec("micro")
    context = {"device": "cpu:0", "threads": 1, "memory_limit": 0, "spill": False, "ledger": None}
    folders = {name: "/nowhere" for name in ("model", "tokenizer", "heldout", "adapter")}
    if request == "render":
        return {"tokenizer": "/nowhere", "records": "/nowhere", "template": "qwen3", "length": 8}
    if request == "evaluate":
        return {"context": context, "spec": spec.values, **folders}
    context["ledger"] = str(folder / "train.bin")
    places = {"train": "/nowhere", "output": "/nowhere", "resume_from": None, "stop_after": None}
    modes = {"schedule": "pinned", "release": "explicit", "spec_digest": spec.digest}
    return {"context": context, "spec": spec.values, **folders, **places, **modes}


def provoke(trainer: Trainer, request: str, folder: Path) -> None:
    """Greet, ask what makes the fake go wrong, and say good-bye."""
    trainer.hello()
    trainer.ask(request, request, **words_of(request, folder))
    trainer.close()


@pytest.mark.timeout(60)
@TURNS
@pytest.mark.parametrize("fake", ZOO, ids=lambda fake: fake.name)
def test_zoo(trainer: MakeTrainer, tmp_path: Path, record_property: Any, fake: Fake, turn: int) -> None:
    record_property("zoo", f"{fake.name}: {fake.reason} ({fake.reason.outcome})")
    started = time.monotonic()
    running = trainer(fake.name, silence_s=fake.silence_s, limits=Limits(stderr_bytes=1 << 20))
    with pytest.raises(TrainerFailure) as caught:
        provoke(running, fake.request, tmp_path)
    seconds = time.monotonic() - started
    record_property("seconds", seconds)
    assert caught.value.reason is fake.reason, caught.value.detail
    assert fake.word in caught.value.detail
    assert seconds < fake.own_s + 5
    assert group.left(running.pid, running._token) == []
    if fake.kept is not None:
        events = tmp_path / "events" / fake.name
        # A word too many is kept with what was asked when it came: nothing, or already the `bye`.
        said = [events / f"{name}.jsonl" for name in (fake.request, "unasked", "bye")]
        lines = [line for path in said if path.exists() for line in path.read_bytes().splitlines()]
        assert len(lines) == fake.kept


def test_every_reason_of_a_process_has_a_fake() -> None:
    """Two reasons have no process: they are in the zoo that `conform` sees."""
    assert {fake.reason for fake in ZOO} == set(Reason) - {Reason.BUILD_FAILED, Reason.BAD_MANIFEST}


def test_reasons_have_their_outcomes() -> None:
    """PROTOCOL's table."""
    others = {Reason.SILENCE: Outcome.TIMED_OUT, Reason.SIGNAL: Outcome.CRASHED}
    assert all(reason.outcome is others.get(reason, Outcome.FAIL) for reason in Reason)


@TURNS
def test_good_ends_well(trainer: MakeTrainer, tmp_path: Path, record_property: Any, turn: int) -> None:
    record_property("zoo", "good: ends well")
    running = trainer("good")
    running.hello()
    assert isinstance(running.ask("render", "render", **words_of("render", tmp_path)).end, Done)
    running.close()
    assert running.failure is None


@pytest.mark.timeout(60)
@TURNS
def test_zoo_as_conform_reports_it(  # noqa: PLR0913, PLR0917
    tmp_path: Path,
    binding: MakeBinding,
    fake_device: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Any,
    turn: int,
) -> None:
    """One run over all of it: the reason and outcome of each, the good one untouched by its neighbours."""
    record_property("zoo", "conform over the whole zoo: every reason and outcome")
    expected = {"odd": Reason.BAD_MANIFEST, "broken": Reason.BUILD_FAILED}
    for fake in ZOO:
        if fake.request == "render":
            expected[binding(fake.name, silence_s=fake.silence_s).name] = fake.reason
    for name, extra in (("odd", "mood = 1"), ("broken", """build = [["{python}", "-c", "1/0"]]""")):
        manifest = binding("good", name=name) / "binding.toml"
        manifest.write_text(manifest.read_text("utf-8") + extra + "\n", "utf-8")
    binding("good")
    binding("good", name="good-too")
    monkeypatch.setenv("FAKE_DEVICE", str(fake_device))
    monkeypatch.setenv("FAKE_DEVICE_SECONDS", "60")
    monkeypatch.setattr(participants, "gauge_of", lambda _device, _ledgers: FakeDeviceGauge(fake_device))
    status = main([
        *("conform", "--spec", "micro", "--references", "none", "--results", str(tmp_path / "run")),
        *("--binding", str(tmp_path / "bindings"), "--level", "rendering", "--jobs", "6"),
    ])  # fmt: skip
    assert status == 1
    lines = read_results(tmp_path / "run").lines
    assert {name: failure_of(name, lines) for name in expected} == {
        name: (str(reason), reason.outcome) for name, reason in expected.items()
    }
    assert {line.outcome for line in lines if line.implementation.startswith("good")} == {Outcome.PASS}
    assert (
        json.loads((tmp_path / "run/events/missing-end/render-tiny-train.jsonl").read_text())["record"] == "a"
    )


def failure_of(name: str, lines: tuple[Line, ...]) -> tuple[str, Outcome]:
    """Reason's word and outcome of an implementation's line."""
    [line] = [line for line in lines if line.implementation == name]
    return line.reason.partition(":")[0], line.outcome
