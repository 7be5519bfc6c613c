"""The one exception that a misbehaving trainer raises in the harness."""

from __future__ import annotations

from hexapla.protocol import Outcome, Reason


class TrainerFailure(Exception):
    """A trainer that broke the protocol, died or fell silent.

    `reason` is PROTOCOL's word; `detail` says what was seen, on one line.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    @property
    def outcome(self) -> Outcome:
        return self.reason.outcome
