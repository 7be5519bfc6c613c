"""The public headers as C17 and C++20 see them, and the library's symbols.

`layout.c` prints sizes, offsets and constants; both languages must print the same, and the same as cffi,
which is what the Python side believes. What is exported must be exactly what the headers declare.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "core"))

from core_library import INCLUDE, build, declarations, load  # noqa: E402

COMPILERS = {"c": ["cc", "-std=c17", "-x", "c"], "cxx": ["c++", "-std=c++20", "-x", "c++"]}


def layout(folder: Path, language: str) -> str:
    compiler, *flags = COMPILERS[language]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} not found")
    program = folder / f"layout-{language}"
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    source = str(HERE / "layout.c")
    subprocess.run([compiler, *flags, *strict, f"-I{INCLUDE}", source, "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def test_c_and_cxx_see_one_layout(tmp_path: Path) -> None:
    assert layout(tmp_path, "c") == layout(tmp_path, "cxx")


def test_python_sees_the_same_layout(tmp_path: Path) -> None:
    ffi, library = load()
    for line in layout(tmp_path, "c").splitlines():
        kind, name, *numbers = line.split()
        if kind == "type":
            assert ffi.sizeof(name) == int(numbers[0]), name
        elif kind == "field":
            type_name, field = name.split(".")
            described = dict(ffi.typeof(type_name).fields)[field]
            assert [described.offset, ffi.sizeof(described.type)] == [int(number) for number in numbers], name
        elif name != "HXP_ABI_VERSION":  # a macro: cffi does not see it
            assert getattr(library, name) == int(numbers[0]), name


def test_layout_names_every_struct_and_constant_of_the_headers() -> None:
    source = (HERE / "layout.c").read_text(encoding="utf-8")
    text = declarations()
    for name in re.findall(r"(HXP_\w+) = \d+", text):
        assert f"CONSTANT({name});" in source, name
    for name in re.findall(r"typedef (?:struct|u?int\d+_t) (hxp_\w+)", text):
        assert f"TYPE({name});" in source, name


@pytest.mark.parametrize("header", sorted(path.name for path in (INCLUDE / "hexapla").glob("*.h")))
@pytest.mark.parametrize("language", COMPILERS)
def test_each_header_stands_alone(language: str, header: str) -> None:
    compiler, *flags = COMPILERS[language]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} not found")
    command = [
        compiler,
        *flags,
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-fsyntax-only",
        f"-I{INCLUDE}",
        "-",
    ]
    subprocess.run(command, input=f'#include "hexapla/{header}"\n', text=True, check=True)


def test_the_library_exports_what_the_headers_declare_and_nothing_else() -> None:
    if not shutil.which("nm"):
        pytest.skip("nm not found")
    done = subprocess.run(
        ["nm", "-D", "--defined-only", str(build())], check=True, capture_output=True, text=True
    )
    exported = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    declared = set(re.findall(r"\b(hxp_\w+)\(", declarations())) - {"hxp_pressure_hook"}
    assert exported == declared
