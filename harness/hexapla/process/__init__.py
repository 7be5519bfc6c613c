"""Trainers as subprocesses: start, ask, watch, end.

Separate because nothing above it may touch a pipe, a signal or a process id. It must not judge a
number: what an event says is the levels' business, whether it may come at all is decided here.
"""

from hexapla.process.failure import TrainerFailure
from hexapla.process.trainer import Answer, Launch, Limits, Trainer

__all__ = ["Answer", "Launch", "Limits", "Trainer", "TrainerFailure"]
