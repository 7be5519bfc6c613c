"""Why a trainer's process, not its numbers, failed, and the outcome that each reason has.

Separate so that process, levels, table and report use one list of words. Nothing here detects anything.
"""

from __future__ import annotations

from enum import StrEnum

from hexapla.protocol.results import Outcome


class Reason(StrEnum):
    """PROTOCOL's reasons. A message that is JSON but does not fit protocol 1 counts as `wrong_protocol`."""

    NO_START = "no_start"
    WRONG_PROTOCOL = "wrong_protocol"
    NOT_JSON = "not_json"
    UNKNOWN_ID = "unknown_id"
    STEP_ORDER = "step_order"
    AFTER_END = "after_end"
    MISSING_END = "missing_end"
    STDOUT_FLOOD = "stdout_flood"
    STDERR_FLOOD = "stderr_flood"
    EXIT_STATUS = "exit_status"
    CHILD_LEFT = "child_left"
    DEVICE_NOT_RELEASED = "device_not_released"
    FAULTY_CORE = "faulty_core"
    BUILD_FAILED = "build_failed"
    BAD_MANIFEST = "bad_manifest"
    SILENCE = "silence"
    SIGNAL = "signal"

    @property
    def outcome(self) -> Outcome:
        """The outcome that PROTOCOL gives this reason."""
        if self is Reason.SILENCE:
            return Outcome.TIMED_OUT
        if self is Reason.SIGNAL:
            return Outcome.CRASHED
        return Outcome.FAIL
