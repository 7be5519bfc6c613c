"""Hexapla's core for Python: layer `sys` declares, `safe` is for use, `trainer` trains.

`from hexapla_core import Context, Tensor, Tape, ops` is where to begin; everything public lives in
`hexapla_core.safe`.
"""

from hexapla_core.safe import *  # noqa: F403
from hexapla_core.safe import __all__ as __all__
