"""Trainers as subprocesses: start, ask, watch, end.

Separate because nothing above it may touch a pipe, a signal or a process id. It must not judge a
number: what an event says is the levels' business, whether it may come at all is decided here.
"""

from hexapla.process.device import DeviceGauge, DeviceWatch, gauge_of
from hexapla.process.failure import TrainerFailure
from hexapla.process.launch import Launch, Limits
from hexapla.process.trainer import Answer, Trainer

__all__ = [
    "Answer",
    "DeviceGauge",
    "DeviceWatch",
    "Launch",
    "Limits",
    "Trainer",
    "TrainerFailure",
    "gauge_of",
]
