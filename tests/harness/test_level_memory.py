"""The level `memory` on observations and trainers that are wrong in one known way each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hexapla.compare.slowdown import Pace, Verdict
from hexapla.compare.trajectory import Trajectory
from hexapla.levels import memory
from hexapla.levels.account import Account, account_of
from hexapla.levels.checks import Attempt, Checked, carry_out
from hexapla.levels.level import Finding
from hexapla.levels.memory import Memory, MemorySeen, collects
from hexapla.levels.memory_trials import Trials, brief, few_heldout, left, refusal
from hexapla.levels.session import RequestFailed
from hexapla.process import Answer
from hexapla.protocol import Bye, Done, Error, Event, Hello, Outcome, Probe
from hexapla.spec import Spec, load_spec
from synthetic_ledger import Entry, write_ledger
from test_level_checkpoint import events

STACKS = {"c": "core", "go": "core"}
MIB = 1 << 20
NEED = 1_000_000
WORDS = "need 25872 bytes, live 12792140, limit 12818011, live handles 446"


@dataclass(frozen=True)
class _Inputs:
    """What the level reads of Inputs."""

    spec: Spec
    work: Path
    model: Path = Path("/m")
    tokenizer: Path = Path("/t")
    train: Path = Path("/r")
    heldout: Path = Path("/h")
    adapter: Path = Path("/a")
    render_files: Mapping[str, Path] = field(default_factory=dict)


def inputs(folder: Path = Path("/nowhere")) -> Any:
    return _Inputs(load_spec("micro"), folder)


# ---- the judge


def sound(peak: int = NEED, limit: int = NEED, collector: int | None = None) -> MemorySeen:
    """An implementation of which nothing is wrong."""
    *steps, done = events(1, 12)
    assert isinstance(done, Done)
    whole = Done(id="t", values={**done.values, "device_bytes_peak": peak})
    run = Trajectory.from_parsed("x", [*steps, whole], (1, 12))
    account = Account(
        live={update: 500 for update in range(1, 13)},
        peaks={update: peak for update in range(1, 13)},
        peak=peak,
        left_bytes=0,
        left_handles=0,
    )
    figures: dict[str, Any] = {"limit_bytes_smallest": limit}
    if collector is not None:
        figures["limit_bytes_smallest_collector"] = collector
    checked = (Checked("limit_explicit", (Attempt(figures=figures),)),)
    return MemorySeen(run, account, checked, Verdict(Pace.STEADY))


def finding(seen: MemorySeen, c: MemorySeen | None = None) -> Finding:
    observed = {"c": c or sound(), "go": seen}
    return Memory().judge(observed, STACKS, inputs())["go"]


def test_a_sound_implementation_passes() -> None:
    found = finding(sound(collector=1_100_000))
    assert found.outcome is Outcome.PASS, found.reason
    assert found.figures["collector_score"] == 1.1
    assert found.figures["peak_ratio_c"] == 1
    assert found.figures["growth_bytes_per_update"] == 0


def _account(seen: MemorySeen, **changed: Any) -> MemorySeen:
    return replace(seen, account=replace(seen.account, **changed))


PRESSED = Verdict(Pace.MEMORY_PRESSURE, 7, 11, 7.0)


def _pressed(seen: MemorySeen, again: Verdict | None = PRESSED) -> MemorySeen:
    return replace(seen, pace=PRESSED, pace_again=again)


def _failing_check(seen: MemorySeen) -> MemorySeen:
    return replace(seen, checked=(*seen.checked, Checked("spill", (Attempt("the bits part"),))))


FAULTS: dict[str, tuple[Callable[[], MemorySeen], str]] = {
    "peak": (lambda: sound(peak=1_060_000), "peak device bytes"),
    "growth": (lambda: _account(sound(), live={k: 500 + 40 * k for k in range(1, 13)}), "grow by 40"),
    "left bytes": (lambda: _account(sound(), left_bytes=64), "left 64 bytes"),
    "left handles": (lambda: _account(sound(), left_handles=2), "2 handles"),
    "peak that lies": (lambda: _account(sound(), peak=NEED + 1), "it says a peak of"),
    "unasked spill": (lambda: _account(sound(), spills=9), "nobody asked for"),
    "silent slow-down": (lambda: _pressed(sound()), "memory pressure: steps take 7.0 times"),
    "blind collector": (lambda: sound(collector=2_100_000), "left to the collector"),
    "a check": (lambda: _failing_check(sound()), "the bits part"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found(name: str) -> None:
    make, words = FAULTS[name]
    found = finding(make())
    assert found.outcome is Outcome.FAIL
    assert words in found.reason
    assert found.axis == "runtime"


def test_a_run_without_a_ledger_is_unknown() -> None:
    found = finding(replace(sound(), account=Account()))
    assert found.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "seen",
    [
        replace(sound(), pace=replace(PRESSED, pace=Pace.NOISY)),
        _pressed(sound(), again=Verdict(Pace.STEADY)),
        _pressed(sound(), again=replace(PRESSED, pace=Pace.NOISY)),
    ],
    ids=["noisy", "steady when asked again", "noisy when asked again"],
)
def test_a_busy_machine_is_noisy_and_passes(seen: MemorySeen) -> None:
    found = finding(seen)
    assert found.outcome is Outcome.PASS, found.reason
    assert found.figures["pace"] == "noisy"


def test_without_c_the_ratio_is_not_available_and_never_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "recorded_for", lambda _spec, _model: None)
    found = Memory().judge({"go": sound()}, STACKS, inputs())["go"]
    assert found.outcome is Outcome.PASS
    assert found.figures["peak_ratio_c"] == "not available"


def test_unknown_for_another_reason_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "recorded_for", lambda _spec, _model: None)
    silent = Checked("spill", (Attempt(unknown="no call spilled"),))
    seen = replace(sound(), checked=(silent,))
    assert Memory().judge({"go": seen}, STACKS, inputs())["go"].outcome is Outcome.UNKNOWN


def test_who_collects() -> None:
    hello = Hello("h", 1, "x", "Zig", "", "core", None, [], ["probe.drop_in_loop"])
    assert not collects(hello)
    assert collects(replace(hello, language="Go"))
    assert collects(replace(hello, capabilities=["probe.cycles"]))


def test_the_account_is_the_ledgers(tmp_path: Path) -> None:
    entries = [
        Entry("context_create"),
        Entry("context_mark", live=100, update=1),
        Entry("add", live=900, update=1),
        Entry("pressure", live=900, update=1),
        Entry("spill", live=900, update=1),
        Entry("context_mark", live=120, update=2),
        Entry("matmul", live=700, update=2, status="HXP_OUT_OF_MEMORY"),
    ]
    ledger = write_ledger(tmp_path / "x.bin", entries, peak=950, left_bytes=8, left_handles=3)
    account = account_of(ledger)
    assert account.live == {1: 100, 2: 120}
    assert account.peaks == {0: 0, 1: 900, 2: 700}
    assert (account.peak, account.left_bytes, account.left_handles) == (950, 8, 3)
    assert (account.pressure_calls, account.spills, account.refusals) == (1, 1, 1)
    assert account_of(None) == account_of(tmp_path / "absent.bin") == Account()
    assert "nothing is known" in left(Account())


@pytest.mark.parametrize(
    ("status", "message", "right"),
    [
        ("HXP_OUT_OF_MEMORY", WORDS, True),
        ("HXP_OUT_OF_MEMORY", "out of memory", False),
        ("HXP_OUT_OF_MEMORY", WORDS.replace("446", "0"), False),
        ("internal", WORDS, False),
    ],
)
def test_a_refusal_carries_cores_words(status: str, message: str, right: bool) -> None:
    assert (refusal(Error(id="x", status=status, message=message, where="")) == "") is right


# ---- the trials, on a trainer that needs NEED bytes


@dataclass
class Machine:
    """A trainer in words. Each switch is one fault."""

    collects: bool = True
    status: str = "HXP_OUT_OF_MEMORY"
    survives: bool = True
    leaves: int = 0
    pressure: bool = True
    hook: bool = True
    spills: bool = True
    scale_spilled: float = 1.0
    leaks: bool = True
    seen: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class FakeSession:
    """Answers as a trainer of `Machine` would, ledgers included."""

    name = "go"

    def __init__(self, machine: Machine, folder: Path) -> None:
        self._machine = machine
        self._folder = folder
        self._count = 0
        self._dead = False

    def ledger_of(self, request_id: str) -> Path:
        return self._folder / f"{request_id}.bin"

    def ask(self, request: str, request_id: str, heard: Any = None, **keys: Any) -> Answer:
        self._count += 1
        ledger = self.ledger_of(f"{request_id}-{self._count}")
        context = keys["context"] or {}
        if request == "probe":
            return self._probe(keys["scenario"], keys["parameters"], ledger)
        limit, release = context["memory_limit"] or 1 << 60, keys["release"]
        machine = self._machine
        lost = release == "collector" and not (machine.collects and machine.hook)
        if self._dead or ((limit < NEED or (lost and machine.leaks)) and not context["spill"]):
            self._dead = not machine.survives
            write_ledger(ledger, [Entry("add", status="HXP_OUT_OF_MEMORY")], left_handles=machine.leaves)
            error = Error(id=f"{request_id}-{self._count}", status=machine.status, message=WORDS, where="")
            raise RequestFailed("train", error)
        extra = [Entry("pressure")] if machine.pressure and release == "collector" else []
        extra += [Entry("spill")] if machine.spills and context["spill"] else []
        write_ledger(ledger, [Entry("add"), *extra], peak=NEED)
        last = keys["stop_after"] or 12
        made: list[Event] = events(1, last, machine.scale_spilled if context["spill"] else 1.0)
        end = made.pop()
        assert isinstance(end, Done)
        return Answer(made, end, 0.1, ledger)

    def _probe(self, scenario: str, parameters: Mapping[str, Any], ledger: Path) -> Answer:
        machine = self._machine
        fails = scenario == "drop_in_loop" and not parameters["close"] and not machine.collects
        seen: dict[str, float | str] = {
            "turns": 16 if fails else parameters["turns"],
            "failed_turn": 17 if fails else 0,
            "pressure_calls": 12,
            "collections": 12,
            "collector_ms": 1.5,
            "difference_bytes": 0,
            **({"managed_heap_growth_bytes": 4096} if machine.collects else {}),
        }
        key = f"{scenario}-{parameters['close']}" if "close" in parameters else scenario
        status = "HXP_OUT_OF_MEMORY" if fails else "HXP_OK"
        peak = 64 * MIB if parameters.get("close") else 1024 * MIB
        extra = [Entry("pressure")] if machine.pressure else []
        left_now = machine.leaves
        write_ledger(ledger, [Entry("add", status=status), *extra], peak=peak, left_handles=left_now)
        event = Probe(id="p", scenario=scenario, seen={**seen, **machine.seen.get(key, {})})
        return Answer([event], Done(id="p", values={}), 0.1, ledger)

    def close(self) -> Bye:
        return Bye(id="bye", handles_live=324 if self._machine.leaks else 0, bytes_live=0)


def outcomes(machine: Machine, folder: Path) -> dict[str, Checked]:
    session: Any = FakeSession(machine, folder)
    trials = Trials(session, inputs(folder), machine.collects)
    run = Trajectory.from_parsed("go", events(1, 12), (1, 12))
    tries = trials.checks(run, Account(peaks={0: 10, 1: NEED, 2: 20, 3: NEED}, peak=NEED))
    return {name: carry_out(name, once) for name, once in tries.items()}


@pytest.mark.parametrize("machine", [Machine(), Machine(collects=False)], ids=["collects", "leaks"])
def test_a_right_trainer_passes_every_check(tmp_path: Path, machine: Machine) -> None:
    checked = outcomes(machine, tmp_path)
    assert {name: check.words for name, check in checked.items()} == dict.fromkeys(checked, "")
    assert ("cycles" in checked) is machine.collects
    resolution = NEED // 256
    limit = checked["limit_explicit"].attempts[0].figures["limit_bytes_smallest"]
    assert isinstance(limit, int) and NEED <= limit <= NEED + resolution


UNSAID: dict[str, float | str] = {"managed_heap_growth_bytes": "not available"}

WRONG: dict[str, tuple[Machine, str, str]] = {
    "its own words for out of memory": (Machine(status="internal"), "at_the_limit", "internal"),
    "dead after out of memory": (Machine(survives=False), "at_the_limit", "OUT_OF_MEMORY"),
    "leaves handles": (Machine(leaves=3), "at_the_limit", "3 handles"),
    "no hook": (Machine(hook=False), "collector", "HXP_OUT_OF_MEMORY"),
    "no hook, no limit": (Machine(hook=False), "limit_collector", "does not train at 8 times"),
    "spill changes the loss": (Machine(scale_spilled=1.5), "spill", "the spilled run: update 1"),
    "c does not leak": (Machine(collects=False, leaks=False), "collector", "all the same"),
    "loop stops": (Machine(seen={"drop_in_loop-0": {"failed_turn": 17}}), "lost_in_loop", "failed_turn"),
    "heap grows when lost": (
        Machine(seen={"drop_in_loop-0": {"managed_heap_growth_bytes": 1 << 20}}),
        "lost_in_loop",
        "heap grew by 1,048,576 bytes",
    ),
    "heap grows when closed": (
        Machine(seen={"drop_in_loop-1": {"managed_heap_growth_bytes": 2e6}}),
        "closed_in_loop",
        "heap grew by 2,000,000 bytes",
    ),
    "closed loop stops": (Machine(seen={"drop_in_loop-1": {"turns": 16}}), "closed_in_loop", "turns"),
    "fails too late": (
        Machine(collects=False, seen={"drop_in_loop-0": {"failed_turn": 18}}),
        "lost_in_loop",
        "17",
    ),
    "cycles": (Machine(seen={"cycles": {"failed_turn": 6}}), "cycles", "failed_turn"),
    "caught errors": (
        Machine(seen={"caught_errors": {"difference_bytes": 64}}),
        "caught_errors",
        "difference_bytes",
    ),
    "scope": (Machine(seen={"scope": {"difference_bytes": 40_370_176}}), "scope", "difference_bytes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_wrong_trainer_is_found(tmp_path: Path, name: str) -> None:
    machine, check, words = WRONG[name]
    found = outcomes(machine, tmp_path)[check]
    assert found.outcome is Outcome.FAIL
    assert words in found.words


@pytest.mark.parametrize(
    ("machine", "check"),
    [
        (Machine(pressure=False), "collector"),
        (Machine(pressure=False), "lost_in_loop"),
        (Machine(spills=False), "spill"),
        (Machine(seen={"drop_in_loop-0": UNSAID}), "lost_in_loop"),
        (Machine(seen={"drop_in_loop-1": UNSAID}), "closed_in_loop"),
    ],
)
def test_what_showed_nothing_is_unknown(tmp_path: Path, machine: Machine, check: str) -> None:
    assert outcomes(machine, tmp_path)[check].outcome is Outcome.UNKNOWN


def test_the_heap_is_shown_where_there_is_one(tmp_path: Path) -> None:
    managed, other = (outcomes(Machine(collects=each), tmp_path / str(each)) for each in (True, False))
    for variant in ("closed", "lost"):
        figures = managed[f"{variant}_in_loop"].attempts[0].figures
        assert figures[f"managed_heap_growth_bytes_{variant}"] == 4096
        none = other[f"{variant}_in_loop"].attempts[0]
        assert not any("heap" in name for name in none.figures) and not none.unknown


def test_the_brief_specification_is_brief() -> None:
    spec = brief(load_spec("tiny"))
    assert (spec["updates"], spec["batch"], spec["micro_batch"]) == (12, 4, 2)
    assert brief(load_spec("micro"))["micro_batch"] == 2


def test_few_held_out_records_are_kept_whole(tmp_path: Path) -> None:
    heldout = tmp_path / "all.jsonl"
    heldout.write_bytes(b"".join(b'{"record": %d}\r\n' % number for number in range(100)))
    few = few_heldout(replace(inputs(), heldout=heldout), tmp_path / "memory")
    kept = few.heldout.read_bytes()
    assert heldout.read_bytes().startswith(kept)
    assert kept.count(b"\n") == 16
