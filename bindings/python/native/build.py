"""Compile and link `_hexapla_native`: src/*.cpp with core's archive, into one module that shows only its init function.

Run by binding.toml: build.py OUTPUT_FOLDER LIBRARY_FOLDER CORE_INCLUDE COMPILER. Separate from CMake because core
is built already, by the harness, and five files need no generator. It leaves a finished module alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "src"
# Numbers must not depend on the compiler's taste, and no symbol of core may meet another library's.
FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
FLAGS += ["-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]


def main() -> int:
    output, library, include = (Path(each) for each in sys.argv[1:4])
    compiler = shlex.split(sys.argv[4])
    archive = library / "libhexapla_static.a"
    for package in ("pybind11", "scipy_openblas32"):
        if importlib.util.find_spec(package) is None:
            print(f"error: package {package} is not installed; pip install 'hexapla[build]'", file=sys.stderr)
            return 1
    if not archive.exists():
        print(f"error: {archive} is missing; build core's target hexapla_static", file=sys.stderr)
        return 1
    module = output / f"_hexapla_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = sorted(SOURCE.glob("*.cpp"))
    headers = [*SOURCE.iterdir(), Path(__file__), archive]
    # The archive's folder is named by core's content: another core is another command.
    stamp = output / "built-with"
    words = shlex.join([*compiler, str(archive), sys.version])
    if module.exists() and stamp.exists() and stamp.read_text("utf-8") == words:
        made = module.stat().st_mtime
        if all(path.stat().st_mtime < made for path in headers):
            return 0
    compile_words = [*compiler, *FLAGS, *includes(include)]
    objects = [output / f"{source.stem}.o" for source in sources]
    commands = [[*compile_words, "-c", str(s), "-o", str(o)] for s, o in zip(sources, objects, strict=True)]
    # Each compiler takes half a gigabyte.
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        statuses = list(pool.map(run, commands))
    if any(statuses) or run(link_words(compiler, objects, archive, module)):
        return 1
    stamp.write_text(words, "utf-8")
    return 0


def includes(core_include: Path) -> list[str]:
    """Core's public headers and its C++ ones; Python's and pybind11's, whose warnings are not ours."""
    pybind11 = importlib.import_module("pybind11")
    system = [pybind11.get_include(), sysconfig.get_paths()["include"]]
    words = [f"-I{core_include}", f"-I{core_include.parent / 'src'}"]
    return [*words, *(word for folder in system for word in ("-isystem", folder))]


def link_words(compiler: list[str], objects: list[Path], archive: Path, module: Path) -> list[str]:
    """The linker's command. zig brings its own static C++ library; g++ is asked for it."""
    openblas = importlib.import_module("scipy_openblas32")
    blas = Path(openblas.get_lib_dir())
    words = [*compiler, "-shared", "-o", str(module), *map(str, objects), str(archive)]
    words += [f"-L{blas}", f"-l{openblas.get_library()}", f"-Wl,-rpath,{blas}", "-ldl", "-lpthread"]
    words += [f"-Wl,--version-script={SOURCE / 'native.map'}", "-Wl,-z,nodelete"]
    return words if "c++" in compiler else [*words, "-static-libstdc++", "-static-libgcc"]


def run(command: list[str]) -> int:
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
