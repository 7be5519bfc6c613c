"""The types of the fixtures that make fakes, and where the fakes lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hexapla.process import Trainer

FAKES = Path(__file__).parent / "fakes"

MakeTrainer = Callable[..., Trainer]
MakeBinding = Callable[..., Path]
