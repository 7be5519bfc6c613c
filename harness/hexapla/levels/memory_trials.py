"""What the level `memory` has one implementation do: short runs under limits, the probes of device memory.

Separate from the level's judgement, so that what is asked stands in one place in the order in which it is
asked. Each method is one try of a check (`levels.checks`); what a later check or the comparison with c needs
is kept on the way.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from hexapla.compare.bits import first_parting
from hexapla.compare.slowdown import Verdict, pace_of
from hexapla.compare.trajectory import Trajectory
from hexapla.envelope.load import load_bounds
from hexapla.levels.account import Account, account_of
from hexapla.levels.checks import Attempt, Try, probe, wrong
from hexapla.levels.level import Inputs
from hexapla.levels.limits import Smallest, smallest_limit
from hexapla.levels.managed_heap import with_heap
from hexapla.levels.session import RequestFailed, Session
from hexapla.levels.training import Leg, shortened, train, train_keys
from hexapla.process.waiting import Waiting
from hexapla.protocol import Error
from hexapla.protocol.results import Figure
from hexapla.spec import Spec

UPDATES = 12
_FEW = 3  # enough updates for garbage to pass every limit that is tried
_LEAST_ROOM = 2  # updates that a limit must let through
_RECORDS = 4
_HELDOUT_LINES = 16
_MIB = 1 << 20

OUT_OF_MEMORY = "HXP_OUT_OF_MEMORY"
_CORE_WORDS = re.compile(r"need \d+ bytes, live \d+, limit \d+, live handles ([1-9]\d*)$")

_LARGE = {"bytes": 64 * _MIB, "turns": 200}  # case B1
_LARGE_LIMIT = 1024 * _MIB
_LARGE_LOST_AT = 17  # 16 tensors fit
_LARGE_CLOSED_PEAK = 128 * _MIB
_CYCLES = {"bytes": 40 * _MIB, "turns": 100}  # case B2 (a)
_CYCLES_LIMIT = 200 * _MIB
_CAUGHT_TURNS = 12  # case B2 (b)
_SCOPE_TURNS = 10  # case B3

_SPILL_SHARE = 0.6  # of the peak; the rest has to go to the host
_SHORT_SHARE = 0.5  # of the peak: nobody can train in it
_RESOLUTION_PARTS = 256  # of the peak: how finely the smallest limit is searched
_CEILING_TIMES = 8  # times the peak: a limit that helps nobody any more


def brief(spec: Spec) -> Spec:
    """The specification as this level runs it: few updates of few records, the rest as it is."""
    short = shortened(spec, UPDATES, UPDATES)
    batch = min(_RECORDS, int(spec["batch"]))
    values = {**short.values, "batch": batch, "micro_batch": min(batch // 2 or 1, int(spec["micro_batch"]))}
    return Spec(f"{short.name}-memory", values)


def few_heldout(inputs: Inputs, folder: Path) -> Inputs:
    """The same inputs with the first held-out records only: every short run begins by evaluating them all."""
    short = folder / "heldout.jsonl"
    lines = inputs.heldout.read_bytes().splitlines(keepends=True)
    folder.mkdir(parents=True, exist_ok=True)
    short.write_bytes(b"".join(lines[:_HELDOUT_LINES]))
    return replace(inputs, heldout=short)


class Trials:
    """One implementation. `collects`: its runtime has a tracing collector."""

    def __init__(self, session: Session, inputs: Inputs, collects: bool) -> None:
        self.collects = collects
        self.explicit: Smallest | None = None
        self.collector: Smallest | None = None
        self._session = session
        self._inputs = inputs
        self._spec = brief(inputs.spec)
        self._folder = inputs.work / session.name / "memory"

    def plain(self) -> tuple[Trajectory, Account, Verdict]:
        """Train without a limit; what its step times say."""
        waiting = Waiting(self._session.running.pid)
        leg = self._leg("plain", UPDATES)
        trained = train(self._session, self._inputs, self._spec, leg, waiting.hear)
        steps = [trained.run.steps[update].milliseconds for update in sorted(trained.run.steps)]
        pace = pace_of(steps, load_bounds("memory"), waiting.milliseconds)
        return trained.run, account_of(trained.ledger), pace

    def checks(self, run: Trajectory, account: Account) -> dict[str, Try]:
        """All tries in order, the one that leaks on purpose last: it gets a process of its own."""
        peak = account.peak or 0
        early = max((most for update, most in account.peaks.items() if update <= _LEAST_ROOM), default=peak)
        tries: dict[str, Try] = {
            "limit_explicit": partial(self._limit_explicit, early),
            "at_the_limit": partial(self._at_the_limit, run, peak),
            "spill": partial(self._spill, run, peak),
            "closed_in_loop": self._closed_in_loop,
            "lost_in_loop": self._lost_in_loop,
            "caught_errors": partial(self._no_difference, "caught_errors", _CAUGHT_TURNS),
            "scope": partial(self._no_difference, "scope", _SCOPE_TURNS),
        }
        if self.collects:
            tries["cycles"] = self._cycles
            tries["limit_collector"] = partial(self._limit_collector, peak)
            tries["collector"] = partial(self._collector, run, peak)
        else:
            tries["collector"] = partial(self._leaks, peak)
        return tries

    # ---- limits

    def _limit_explicit(self, peak: int) -> Attempt:
        self.explicit = self._smallest(peak, "explicit")
        return self._found(self.explicit, "limit_bytes_smallest")

    def _limit_collector(self, peak: int) -> Attempt:
        guess = self.explicit.limit if self.explicit is not None else peak
        self.collector = self._smallest(guess, "collector")
        return self._found(self.collector, "limit_bytes_smallest_collector")

    def _smallest(self, guess: int, release: str) -> Smallest | None:
        trains = partial(self._trains, release)
        return smallest_limit(trains, guess, max(1, guess // _RESOLUTION_PARTS), _CEILING_TIMES * guess)

    @staticmethod
    def _found(smallest: Smallest | None, figure: str) -> Attempt:
        if smallest is None:
            return Attempt(f"it does not train at {_CEILING_TIMES} times what it needs without a limit")
        return Attempt(
            figures={
                figure: smallest.limit,
                f"{figure.replace('bytes_smallest', 'bytes_resolution')}": smallest.resolution,
            }
        )

    def _trains(self, release: str, limit: int) -> bool:
        leg = self._leg(f"limit-{release}", _LEAST_ROOM, limit=limit, release=release)
        try:
            trained = train(self._session, self._inputs, self._spec, leg)
        except RequestFailed as failed:
            self._session.ledger_of(failed.error.id).unlink(missing_ok=True)
            if failed.error.status != OUT_OF_MEMORY:
                raise
            return False
        if trained.ledger is not None:
            trained.ledger.unlink(missing_ok=True)  # there are many, and the last ones told nothing new
        return True

    def _at_the_limit(self, run: Trajectory, peak: int) -> Attempt:
        """Too little memory is an error with core's words, leaves nothing, and ends nothing."""
        leg = self._leg("short", _FEW, limit=int(peak * _SHORT_SHARE))
        try:
            train(self._session, self._inputs, self._spec, leg)
        except RequestFailed as failed:
            problem = refusal(failed.error)
            account = account_of(self._session.ledger_of(failed.error.id))
        else:
            return Attempt(f"it trains in {leg.context['memory_limit']} bytes, though it needs {peak}")
        problem = problem or left(account)
        if not problem:
            after = train(self._session, self._inputs, self._spec, self._leg("after", _FEW))
            problem = parted(after.run, run, _FEW, "the run after it")
        return Attempt(problem)

    def _spill(self, run: Trajectory, peak: int) -> Attempt:
        leg = self._leg("spill", _FEW, limit=int(peak * _SPILL_SHARE), spill=True)
        trained = train(self._session, self._inputs, self._spec, leg)
        account = account_of(trained.ledger)
        figures: dict[str, Figure] = {"spills": account.spills}
        problem = parted(trained.run, run, _FEW, "the spilled run")
        if problem or account.spills:
            return Attempt(problem, figures=figures)
        return Attempt(unknown="no call spilled, so that nothing was shown", figures=figures)

    # ---- release left to the collector

    def _collector(self, run: Trajectory, peak: int) -> Attempt:
        """With a tracing collector: the hook has it collect, and the same run comes of it."""
        leg = self._leg("collector", _FEW, limit=2 * peak, release="collector")
        trained = train(self._session, self._inputs, self._spec, leg)
        account = account_of(trained.ledger)
        figures: dict[str, Figure] = {"collector_pressure_calls": account.pressure_calls}
        problem = parted(trained.run, run, _FEW, "the collected run") or left(account)
        if problem or account.pressure_calls:
            return Attempt(problem, figures=figures)
        return Attempt(
            unknown="the limit was never met, so that no collection was asked for", figures=figures
        )

    def _leaks(self, peak: int) -> Attempt:
        """Without one: it leaks on purpose, must be refused, and says at `bye` what is live."""
        self._session.close()
        leg = self._leg("leaks", _FEW, limit=2 * peak, release="collector")
        try:
            train(self._session, self._inputs, self._spec, leg)
        except RequestFailed as failed:
            problem = refusal(failed.error)
        else:
            problem = (
                f"nothing was released, and it trains in {leg.context['memory_limit']} bytes all the same"
            )
        bye = self._session.close()
        live = bye.handles_live if bye is not None else None
        if not problem and not live:
            problem = f"it says bye with {live} live handles, though nothing was released"
        return Attempt(problem, figures={"leaked_handles": live or 0})

    # ---- probes

    def _closed_in_loop(self) -> Attempt:
        seen = probe(self._session, "drop_in_loop", {**_LARGE, "close": 1}, {"memory_limit": _LARGE_LIMIT})
        account = account_of(seen.ledger)
        problem = wrong(seen.seen, turns=_LARGE["turns"], failed_turn=0) or left(account)
        attempt = Attempt(problem or _above(account, _LARGE_CLOSED_PEAK))
        return with_heap(attempt, seen.seen, "closed", self.collects)

    def _lost_in_loop(self) -> Attempt:
        seen = probe(self._session, "drop_in_loop", {**_LARGE, "close": 0}, {"memory_limit": _LARGE_LIMIT})
        account = account_of(seen.ledger)
        if not self.collects:
            lost = wrong(seen.seen, turns=_LARGE_LOST_AT - 1, failed_turn=_LARGE_LOST_AT)
            refused = "" if account.refusals else "its ledger shows no call refused for want of memory"
            return with_heap(Attempt(lost or refused or left(account)), seen.seen, "lost", collects=False)
        figures: dict[str, Figure] = {
            f"{name}_in_loop": seen.seen[name]
            for name in ("pressure_calls", "collections", "collector_ms")
            if name in seen.seen
        }
        problem = wrong(seen.seen, turns=_LARGE["turns"], failed_turn=0) or left(account)
        problem = problem or _above(account, _LARGE_LIMIT)
        if not problem and not account.pressure_calls:
            return Attempt(unknown="no pressure was felt, so that nothing was shown", figures=figures)
        return with_heap(Attempt(problem, figures=figures), seen.seen, "lost", self.collects)

    def _cycles(self) -> Attempt:
        seen = probe(self._session, "cycles", _CYCLES, {"memory_limit": _CYCLES_LIMIT})
        right = {"turns": _CYCLES["turns"], "failed_turn": 0, "difference_bytes": 0}
        return Attempt(wrong(seen.seen, **right) or left(account_of(seen.ledger)))

    def _no_difference(self, scenario: str, turns: int) -> Attempt:
        keys = train_keys(self._inputs, self._spec, self._folder / scenario)
        seen = probe(self._session, scenario, {"turns": turns, "train": keys})
        right = {"turns": turns, "failed_turn": 0, "difference_bytes": 0}
        return Attempt(wrong(seen.seen, **right) or left(account_of(seen.ledger)))

    def _leg(
        self, name: str, updates: int, *, limit: int = 0, spill: bool = False, release: str = "explicit"
    ) -> Leg:
        whole = updates >= int(self._spec["updates"])
        return Leg(
            f"memory-{name}",
            self._folder / name,
            (1, min(updates, int(self._spec["updates"]))),
            stop_after=None if whole else updates,
            release=release,
            context={"memory_limit": limit, "spill": spill},
        )


def refusal(error: Error) -> str:
    """What is wrong with the error of a run that had too little memory; "" when nothing is."""
    if error.status != OUT_OF_MEMORY:
        return f"too little memory ended in {error.status}, not {OUT_OF_MEMORY}: {error.message}"
    if not _CORE_WORDS.search(error.message):
        return f"the error does not carry core's words, which name the live handles: {error.message!r}"
    return ""


def left(account: Account) -> str:
    """What a request left behind by its ledger; "" when nothing is. No ledger is no proof."""
    if account.left_bytes is None:
        return "its ledger cannot be read, so that nothing is known of what it left"
    if account.left_bytes or account.left_handles:
        return f"it left {account.left_bytes} bytes and {account.left_handles} handles live"
    return ""


def parted(run: Trajectory, plain: Trajectory, updates: int, words: str) -> str:
    """Where the first updates of two runs part, in words; "" when every bit is the same."""
    for each, name in ((plain, "the run without a limit"), (run, words)):
        if each.defects:
            return f"{name}: {each.defects[0]}"
    parting = first_parting(_first(run, updates), _first(plain, updates))
    return "" if parting is None else f"{words}: {parting}, as it is without a limit"


def _first(run: Trajectory, updates: int) -> Trajectory:
    steps = {update: step for update, step in run.steps.items() if update <= updates}
    start = {update: each for update, each in run.evaluations.items() if update == 0}
    return replace(run, steps=steps, evaluations=start, checkpoints={})


def _above(account: Account, most: int) -> str:
    if account.peak is None or account.peak > most:
        return f"its peak was {account.peak} bytes, more than {most}"
    return ""
