"""Makes the scripts that built the embedded default importable, for the tests that run them again.

Apart from the tests so that two of them can share it; holds no checks.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

REPOSITORY = Path(__file__).parents[2]
EMBEDDED = REPOSITORY / "harness" / "hexapla" / "data" / "embedded"


def script(name: str) -> ModuleType:
    """The module scripts/embedded/`name`.py."""
    folder = str(REPOSITORY / "scripts" / "embedded")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)
