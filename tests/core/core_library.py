"""Builds the core once and loads it through cffi, for tests alone: no class hides a handle here.

Separate from conftest.py so that tests of other folders can use it. It must not know what any call means.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import cffi

REPOSITORY = Path(__file__).resolve().parents[2]
INCLUDE = REPOSITORY / "core" / "include"
# The order in which the headers need each other.
NOUNS = ("status", "context", "tensor", "tape", "ops", "optimizer")
NOUNS += ("checkpoint", "tokenizer", "ledger", "gate")


def tool(name: str) -> str:
    """A build tool: beside this Python first (pip's), else on PATH."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} not found: pip install {name}")
    return found


def blas_options() -> list[str]:
    """CMake's options for the BLAS of the pip package; none if it is absent (then a system OpenBLAS)."""
    try:
        import scipy_openblas32  # noqa: PLC0415
    except ImportError:
        return []
    folder = Path(scipy_openblas32.get_lib_dir())
    return [
        f"-DHXP_BLAS_INCLUDE_DIR={scipy_openblas32.get_include_dir()}",
        f"-DHXP_BLAS_LIBRARY={next(folder.glob('libscipy_openblas*.so'))}",
    ]


@functools.cache
def build(sanitize: str = "") -> Path:
    """Build libhexapla.so into build/ and return its path. HEXAPLA_LIBRARY names a finished one instead."""
    ready = os.environ.get("HEXAPLA_LIBRARY")
    if ready and not sanitize:
        return Path(ready)
    folder = REPOSITORY / "build" / (f"core-{sanitize}" if sanitize else "core")
    configure = [tool("cmake"), "-S", str(REPOSITORY / "core"), "-B", str(folder), "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", f"-DHXP_SANITIZE={sanitize}", *blas_options()]
    for command in (configure, [tool("cmake"), "--build", str(folder)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return folder / "libhexapla.so"


def declarations() -> str:
    """The public headers as cffi.cdef takes them: no preprocessor, no extern "C", no export attribute."""
    text = "\n".join((INCLUDE / "hexapla" / f"{noun}.h").read_text(encoding="utf-8") for noun in NOUNS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus\s*\n.*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    return text.replace("HXP_API ", "").replace('__attribute__((visibility("default")))', "")


@functools.cache
def load() -> tuple[cffi.FFI, Any]:
    """cffi and the library, loaded once a process. Every call lets go of the interpreter's lock."""
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    return ffi, ffi.dlopen(str(build()))
