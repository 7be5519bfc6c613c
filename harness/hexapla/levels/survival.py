"""What is left of a run that was killed or stopped from outside, and whether going on leads to the same bits.

Separate because it ends and stops processes, through the session only, and because what one implementation
left is resumed by another in the level's second round.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hexapla.compare.bits import parted
from hexapla.compare.trajectory import Trajectory
from hexapla.levels.checkpoint import after
from hexapla.levels.checks import Attempt, Checked, carry_out, carry_out_all
from hexapla.levels.level import Inputs
from hexapla.levels.session import Session
from hexapla.levels.training import Leg, checkpoint_folder, train
from hexapla.process import TrainerFailure
from hexapla.protocol import Event, Outcome, Reason, Step
from hexapla.spec import Spec

PAUSE_SECONDS = 10.0
_PAUSE_BEHIND = 2


@dataclass(frozen=True, slots=True)
class Left:
    """What a killed run left: its last checkpoint's update (0: none was to be had) and folder, and the same
    run undisturbed."""

    whole: Trajectory
    output: Path
    update: int


@dataclass(frozen=True, slots=True)
class Survival:
    """Trains the same few updates of one implementation, each saved. Raises what Session.ask raises."""

    session: Session
    inputs: Inputs
    spec: Spec
    folder: Path
    pause_seconds: float = PAUSE_SECONDS

    def observe(self) -> tuple[tuple[Checked, ...], Left]:
        """Kill it and resume, then stop it for a while; and what the killed run left."""
        whole = self._train("whole", None, 0)
        updates = int(self.spec["updates"])
        at = random.Random(f"{self.spec['seed']} {self.session.name}").randint(2, updates - 1)
        killed = carry_out("killed", partial(self._killed, whole, at))
        paused = carry_out("paused", partial(self._paused, whole))
        output = self.folder / "killed"
        update = last_checkpoint(output) if killed.outcome is Outcome.PASS else 0
        return (killed, paused), Left(whole, output, update)

    def resume_foreign(self, own: Left, other: str, left: Left) -> tuple[Checked, ...]:
        """Go on where another implementation was killed; the end must be one's own."""
        resume = partial(self._resumed, own.whole, left.output, left.update, f"{other}'s")
        return carry_out_all({"killed_foreign": resume})

    def _killed(self, whole: Trajectory, at: int) -> Attempt:
        trainer = self.session.running

        def kill(event: Event) -> None:
            if isinstance(event, Step) and event.step == at:
                trainer.interrupt()

        try:
            self._train("killed", None, 0, kill)
        except TrainerFailure as failure:
            if failure.reason is not Reason.SIGNAL:
                raise
        else:
            return Attempt(unknown=f"its run was over before it could be killed at update {at}")
        output = self.folder / "killed"
        update = last_checkpoint(output)
        if update < at - 1:
            words = f"killed at update {at} it left no checkpoint of update {at - 1}, which it had said"
            return Attempt(problem=words)
        attempt = self._resumed(whole, output, update, "its own")
        return Attempt(attempt.problem, figures={"killed_at_update": at, "resumed_from_update": update})

    def _resumed(self, whole: Trajectory, output: Path, update: int, whose: str) -> Attempt:
        run = self._train("resumed", checkpoint_folder(output, update), update)
        words = judge_resumed(run, whole, update)
        return Attempt(problem=f"resumed from {whose} killed run, {words}" if words else "")

    def _paused(self, whole: Trajectory) -> Attempt:
        trainer = self.session.running
        stood: list[Callable[[], bool]] = []

        def pause(event: Event) -> None:
            if isinstance(event, Step) and event.step == _PAUSE_BEHIND:
                stood.append(trainer.pause(self.pause_seconds))

        words = judge_resumed(self._train("paused", None, 0, pause), whole, 0)
        if words:
            return Attempt(problem=f"stopped for {self.pause_seconds:g} s, {words}")
        if not all(each() for each in stood) or not stood:
            return Attempt(unknown="it was not seen to stand still")
        return Attempt(figures={"paused_seconds": self.pause_seconds})

    def _train(
        self, name: str, resume_from: Path | None, done: int, heard: Callable[[Event], None] | None = None
    ) -> Trajectory:
        updates = (done + 1, int(self.spec["updates"]))
        leg = Leg(f"errors-{name}", self.folder / name, updates, resume_from=resume_from)
        return train(self.session, self.inputs, self.spec, leg, heard).run


def last_checkpoint(output: Path) -> int:
    """The update of the last whole checkpoint in a run's folder; 0 for none."""
    names = [path.name for path in output.glob("checkpoint-*") if path.suffix != ".partial"]
    return max((int(name.removeprefix("checkpoint-")) for name in names), default=0)


def judge_resumed(run: Trajectory, whole: Trajectory, update: int) -> str:
    """Where a run from behind `update` on parts from the undisturbed one, in words; "" for nowhere."""
    return parted(run, after(whole, update) if update else whole, "the undisturbed run")
