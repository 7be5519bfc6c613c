"""Builds the fuzzers of core's readers and runs each for a while: `python core/fuzz/run.py --seconds 60`.

With clang they are libFuzzer's; without it g++ and driver.cpp. AddressSanitizer and UBSan watch either. A
finding is an input file in build/fuzz/findings/ and exit status 1; it then becomes a case of
tests/core/test_hostile_files.py.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE.parent
OUT = CORE.parent / "build" / "fuzz"
TARGETS = ("json", "safetensors", "tokenizer")
READERS = ("json", "text", "unicode", "unicode_tables", "split", "bpe", "tokenizer", "tokenizer_file")
READERS += ("safetensors", "file", "dtype")
FLAGS = ["-std=c++20", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS += [f"-I{CORE}/include", f"-I{CORE}/src"]


def main() -> int:
    """0: nothing found; 1: a finding; 2: it could not be built."""
    parser = argparse.ArgumentParser(description="Fuzz core's readers.")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one (repeatable)")
    words = parser.parse_args()
    clang = shutil.which("clang++")
    if not clang and not shutil.which("g++"):
        print("neither clang++ nor g++ found: apt-get install g++", file=sys.stderr)
        return 2
    try:
        programs = build(clang, words.target or TARGETS)
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(error.cmd)}: exit status {error.returncode}", file=sys.stderr)
        return 2
    found = [name for name, program in programs.items() if not fuzz(program, name, words, bool(clang))]
    return 1 if found else 0


def build(clang: str | None, targets: tuple[str, ...] | list[str]) -> dict[str, Path]:
    """The readers once, then a program for each target. Raises CalledProcessError."""
    OUT.mkdir(parents=True, exist_ok=True)
    coverage = ["-fsanitize=fuzzer-no-link"] if clang else ["-fsanitize-coverage=trace-pc"]
    compiler = [clang or "g++", *FLAGS, *coverage]
    objects = []
    for name in READERS:
        source, target = CORE / "src/formats" / f"{name}.cpp", OUT / f"reader-{name}.o"
        subprocess.run([*compiler, "-c", str(source), "-o", str(target)], check=True)
        objects.append(str(target))
    if clang:
        link = ["-fsanitize=fuzzer"]
    else:
        driver = OUT / "driver.o"
        subprocess.run(["g++", *FLAGS, "-c", str(HERE / "driver.cpp"), "-o", str(driver)], check=True)
        link = [str(driver)]
    programs = {name: OUT / f"fuzz-{name}" for name in targets}
    for name, program in programs.items():
        command = [*compiler, str(HERE / f"{name}.cpp"), *objects, *link, "-o", str(program), "-pthread"]
        subprocess.run(command, check=True)
    return programs


def fuzz(program: Path, name: str, words: argparse.Namespace, libfuzzer: bool) -> bool:
    """Run one target; True if nothing was found. What it prints is passed on."""
    findings = OUT / "findings"
    findings.mkdir(exist_ok=True)
    seeds = HERE / "corpus" / name
    if libfuzzer:
        grown = OUT / f"corpus-{name}"
        grown.mkdir(exist_ok=True)
        command = [str(program), f"-max_total_time={max(1, round(words.seconds))}", f"-seed={words.seed}"]
        command += ["-max_len=4096", "-verbosity=0", f"-artifact_prefix={findings}/{name}-"]
        command += [str(grown), str(seeds)]
    else:
        current = OUT / f"current-{name}"
        files = [str(path) for path in sorted(seeds.iterdir())]
        command = [str(program), str(words.seconds), str(current), str(words.seed), *files]
    print(f"{name}: ", end="", flush=True)
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        if libfuzzer:
            print("nothing found")
        return True
    if not libfuzzer:
        raw = current.read_bytes()
        [size] = struct.unpack_from("<Q", raw)
        (findings / f"{name}-finding").write_bytes(raw[8 : 8 + size])
    print(f"{name}: exit status {status}; the input is in {findings}", file=sys.stderr)
    return False


if __name__ == "__main__":
    sys.exit(main())
