"""Building core: once for each content of core/ and compiler, into build/core/<key>/.

Separate from bindings because every core-driven implementation must run on the same file, and because
the BLAS and CMake come from packages of this interpreter. The key holds all that decides the bits.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import importlib.util
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from hexapla.toolchains.command import BuildError, ToolchainMissing, run_logged
from hexapla.toolchains.places import Places, compile_caches
from hexapla.toolchains.provision import obtain_tool
from hexapla.toolchains.tools import MissingTool, Tool

_SKIPPED_PARTS = {"build", "__pycache__"}


@dataclass(frozen=True, slots=True)
class Core:
    """A built core library."""

    library: Path
    include: Path
    compiler: str
    c_compiler: tuple[str, ...]
    seconds: float

    @property
    def placeholders(self) -> dict[str, str]:
        return {
            "include": str(self.include),
            "library": str(self.library),
            "library_dir": str(self.library.parent),
        }


def build_core(places: Places, *, faults: bool = False) -> Core:
    """Build core/ unless this content was built before. Raises BuildError, ToolchainMissing.

    faults: with the switches of core/faults, which a normal run refuses.
    """
    started = time.monotonic()
    source = places.root / "core"
    tools = {name: obtain_tool(name) for name in ("cc", "cxx")}
    for tool in tools.values():
        if isinstance(tool, MissingTool):
            raise ToolchainMissing(tool.reason)
    cc, cxx = (tool for tool in tools.values() if isinstance(tool, Tool))
    for package in ("cmake", "ninja", "scipy_openblas32"):
        if importlib.util.find_spec(package) is None:
            raise ToolchainMissing(f"package {package} is not installed; pip install 'hexapla[build]'")
    blas = importlib.import_module("scipy_openblas32")
    compiler = f"{' '.join(cxx.argv)} {cxx.version}"
    kind = f"{compiler} faults" if faults else compiler
    folder = places.build / "core" / _key(source, kind, str(blas.__version__))
    library = folder / "libhexapla.so"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "build.log"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once build it once
        if not (folder / "complete").exists():
            scripts = Path(sys.executable).parent
            path = f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"
            environment = {**os.environ, **compile_caches(places.cache), "PATH": path}
            with log.open("wb") as output:
                configure = [
                    str(scripts / "cmake"),
                    *("-S", str(source), "-B", str(folder), "-G", "Ninja"),
                    "-DCMAKE_BUILD_TYPE=Release",
                    f"-DCMAKE_C_COMPILER={';'.join(cc.argv)}",
                    f"-DCMAKE_CXX_COMPILER={';'.join(cxx.argv)}",
                    f"-DHXP_BLAS_INCLUDE_DIR={blas.get_include_dir()}",
                    f"-DHXP_BLAS_LIBRARY={_blas_library(blas)}",
                    f"-DHXP_FAULTS={'ON' if faults else 'OFF'}",
                    f"-DHXP_ZIG={'ON' if 'zig' in cxx.source else 'OFF'}",
                ]
                run_logged(configure, source, environment, output.fileno(), log)
                build = [str(scripts / "cmake"), "--build", str(folder)]
                run_logged(build, source, environment, output.fileno(), log)
            if not library.exists():
                raise BuildError(f"the build of core left no {library.name} (log {log})", log)
            (folder / "complete").touch()
    return Core(library, source / "include", compiler, cc.argv, time.monotonic() - started)


def _blas_library(blas: ModuleType) -> Path:
    name = f"lib{blas.get_library()}"
    return next(path for path in sorted(Path(blas.get_lib_dir()).iterdir()) if path.stem == name)


def _key(source: Path, compiler: str, blas: str) -> str:
    digest = hashlib.sha256(f"{compiler}\0{blas}\0".encode())
    for path in sorted(source.rglob("*")):
        relative = path.relative_to(source)
        if path.is_file() and not _SKIPPED_PARTS & set(relative.parts):
            digest.update(f"{relative}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
