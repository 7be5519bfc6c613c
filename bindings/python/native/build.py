"""Compile and link `_hexapla_native`: src/*.cpp with core's archive, into one module that shows only its
init function.

Run by binding.toml: build.py OUTPUT_FOLDER LIBRARY_FOLDER CORE_INCLUDE COMPILER_WORDS... Separate from CMake
because core is built already, by the harness, and five files need no generator. A file is compiled again only
if it, a header of it or the command is another than last time: pybind11 makes each cost ten seconds.
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
    compiler = sys.argv[4:]
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
    objects = [output / f"{source.stem}.o" for source in sources]
    words = [*compiler, *FLAGS, *includes(include)]
    commands = [[*words, "-MMD", "-c", str(s), "-o", str(o)] for s, o in zip(sources, objects, strict=True)]
    stale = [command for command, made in zip(commands, objects, strict=True) if not is_fresh(made, command)]
    # Each compiler takes half a gigabyte.
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        statuses = list(pool.map(compile_one, stale))
    if any(statuses):
        return 1
    return subprocess.run(link_words(compiler, objects, archive, module), check=False).returncode


def is_fresh(made: Path, command: list[str]) -> bool:
    """Whether an object was made by this command from files that have not changed since."""
    stamp, dependencies = made.with_suffix(".command"), made.with_suffix(".d")
    if not (made.exists() and stamp.exists() and dependencies.exists()):
        return False
    if stamp.read_text("utf-8") != shlex.join(command):
        return False
    time = made.stat().st_mtime_ns
    files = shlex.split(dependencies.read_text("utf-8").replace("\\\n", " ").partition(":")[2])
    return all(Path(file).exists() and Path(file).stat().st_mtime_ns < time for file in files)


def compile_one(command: list[str]) -> int:
    made = Path(command[-1])
    stamp = made.with_suffix(".command")
    stamp.unlink(missing_ok=True)
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        stamp.write_text(shlex.join(command), "utf-8")
    return status


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


if __name__ == "__main__":
    sys.exit(main())
