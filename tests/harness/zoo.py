"""The zoo: every way in which a trainer can break the protocol, and the word that PROTOCOL has for it.

One row a fake of fakes/. Separate from the tests because two of them go through it: one asks each fake
alone and looks at the clock, one has `hexapla conform` report them all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from hexapla.protocol import Reason


@dataclass(frozen=True)
class Fake:
    """request: what makes it go wrong. word: stands in the reason. own_s: the time it needs by itself.
    kept: lines in the events files of request and bye, the wrong one too; None: it never got so far."""

    name: str
    reason: Reason
    word: str
    request: str = "render"
    own_s: float = 0.0
    silence_s: float = 20.0
    kept: int | None = 0


ZOO = [
    Fake("no_start", Reason.NO_START, "a library that is not there", kept=None),
    Fake("wrong_protocol", Reason.WRONG_PROTOCOL, "protocol 2", kept=None),
    Fake("faulty_core", Reason.FAULTY_CORE, "missing_share", kept=None),
    Fake("unknown_key", Reason.WRONG_PROTOCOL, "mood", kept=1),
    Fake("bits_lie", Reason.WRONG_PROTOCOL, "loss_bits", "evaluate", kept=1),
    Fake("not_json", Reason.NOT_JSON, "line 3", kept=1),
    Fake("nan", Reason.NOT_JSON, "NaN is not JSON", "evaluate", kept=1),
    Fake("no_newline", Reason.NOT_JSON, "line 3", kept=1),
    Fake("unknown_id", Reason.UNKNOWN_ID, "nobody", kept=1),
    Fake("replay", Reason.UNKNOWN_ID, "train-of-tuesday", "train", kept=1),
    Fake("step_order", Reason.STEP_ORDER, "step 2 where step 1", "train", kept=3),
    Fake("after_end", Reason.AFTER_END, "had ended", kept=4),
    Fake("missing_end", Reason.MISSING_END, "exit status 0", kept=1),
    Fake("skips_bye", Reason.MISSING_END, "not by bye", kept=4),
    Fake("closed_stdout", Reason.MISSING_END, "exit status 7", own_s=2.0),
    Fake("works_on", Reason.MISSING_END, "stdout closed", own_s=1.0, silence_s=1.0),
    Fake("stdout_flood", Reason.STDOUT_FLOOD, "bytes"),
    Fake("stderr_flood", Reason.STDERR_FLOOD, "bytes"),
    Fake("exit_status", Reason.EXIT_STATUS, "exit status 1", kept=4),
    Fake("child_left", Reason.CHILD_LEFT, "left process", own_s=1.0, kept=4),
    Fake("device_child", Reason.DEVICE_NOT_RELEASED, "256 MiB", own_s=1.0, kept=4),
    Fake("silent", Reason.SILENCE, "1 s during hello", own_s=1.0, silence_s=1.0, kept=None),
    Fake("hang", Reason.SILENCE, "1 s during render", own_s=1.0, silence_s=1.0),
    Fake("grandchild", Reason.SILENCE, "1 s during render", own_s=1.0, silence_s=1.0),
    Fake("crash", Reason.SIGNAL, "SIGSEGV"),
    Fake("crash_on_stdout", Reason.SIGNAL, "SIGSEGV", own_s=0.3, kept=1),
    Fake("crash_in_core", Reason.SIGNAL, "attention (HXP_OUT_OF_MEMORY)", "train"),
]

REPEATS = int(os.environ.get("HEXAPLA_ZOO_REPEAT", "1"))
"""How often the whole zoo is run."""
