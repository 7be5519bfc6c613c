"""The levels, cheapest first, and the run that goes through them.

A failed level blocks those that stand on it (each level's `stands_on`): `loading` and `rendering` before
`untrained`, that and `operators` before `trajectory`, that before `checkpoint` and `threads`.
"""

from hexapla.levels.abi import Abi
from hexapla.levels.checkpoint import CheckpointLevel
from hexapla.levels.errors import Errors
from hexapla.levels.level import AnyLevel
from hexapla.levels.loading import Loading
from hexapla.levels.memory import Memory
from hexapla.levels.operators import Operators
from hexapla.levels.ownership import Ownership
from hexapla.levels.rendering import Rendering
from hexapla.levels.threads import ThreadsLevel
from hexapla.levels.trajectory import TrajectoryLevel
from hexapla.levels.untrained import UntrainedLevel


def all_levels() -> list[AnyLevel]:
    """One of each, in the order in which they run."""
    return [
        Abi(),
        Operators(),
        Loading(),
        Rendering(),
        UntrainedLevel(),
        TrajectoryLevel(),
        CheckpointLevel(),
        ThreadsLevel(),
        Memory(),
        Ownership(),
        Errors(),
    ]


__all__ = ["AnyLevel", "all_levels"]
