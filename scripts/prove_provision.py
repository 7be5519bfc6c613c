"""Prove that a machine without compilers gets the project's results: `nox -s provision`.

A fresh clone of the commit that is checked out, a home and a cache of its own, a PATH that holds coreutils,
bash and python3, and (started by root) the user `nobody`. There the harness is installed and
`hexapla conform --spec micro` run: what packages bring must pass, Rust must be skipped with the command
that installs it. Separate from the tests because it downloads 0.4 GB, takes minutes and needs a network.
It uses the standard library alone and leaves nothing behind unless --keep names a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROVISIONED = ("c", "go", "java", "native", "python", "zig")
GOOD = {"pass", "not-applicable", "expected-fail"}
# The reference torch is left out of the clone's environment: what judges against it alone is skipped.
ALLOWED = GOOD | {"skipped"}
NEEDED = ("operators", "loading", "rendering", "untrained", "trajectory")
ON_PATH = (
    "bash sh env cat chmod cp dirname echo head id ln ls mkdir mv pwd rm sleep sort tail touch tr uname wc"
)
ABSENT = "cc gcc g++ c++ clang ld ar java javac go cargo rustc zig cmake ninja"
KEPT_VARIABLES = ("PIP_", "SSL_", "REQUESTS_CA", "HTTP_", "HTTPS_", "NO_PROXY", "http_", "https_", "no_proxy")


class Proof:
    """The folder, the user and the environment of a proof; each step is timed."""

    def __init__(self, folder: Path, user: str) -> None:
        self.folder = folder
        self.user = pwd.getpwnam(user) if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        self.home, self.clone, self.path = folder / "home", folder / "clone", folder / "bin"
        for each in (self.home, self.path, folder / "tmp", folder / "usr-lib"):
            each.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if name.startswith(KEPT_VARIABLES)},
            "PATH": str(self.path),
            "HOME": str(self.home),
            "TMPDIR": str(folder / "tmp"),
            "LANG": "C.UTF-8",
            "HEXAPLA_USR_LIB": str(folder / "usr-lib"),
        }

    def furnish(self) -> None:
        """The clone, the PATH, and both in the user's hands."""
        subprocess.run(["git", "clone", "-q", "--depth", "1", ROOT.as_uri(), str(self.clone)], check=True)
        for name in ON_PATH.split():
            found = shutil.which(name)
            if found:
                (self.path / name).symlink_to(found)
        (self.path / "python3").symlink_to(self._python())
        present = [name for name in ABSENT.split() if shutil.which(name, path=str(self.path))]
        if present:
            raise SystemExit(f"provision: on the PATH of the proof: {', '.join(present)}")
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            for each in (self.folder, *self.folder.rglob("*")):
                os.chown(each, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)

    def _python(self) -> str:
        """An interpreter that the user may start and that makes environments: root's own is often closed."""
        names: list[str] = [
            getattr(sys, "_base_executable", ""),
            "/usr/bin/python3",
            "/usr/local/bin/python3",
        ]
        code = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
        for name in filter(None, names):
            try:
                if self.run([name, "-c", code], quiet=True) == 0:
                    return name
            except OSError:
                continue
        tried = ", ".join(filter(None, names))
        raise SystemExit(f"provision: {self.user.pw_name} may start no Python 3.11 with venv (tried {tried})")

    def run(self, words: list[str], *, quiet: bool = False) -> int:
        """Run as the user, in the clone where there is one."""
        switch: dict[str, Any] = {}
        if os.geteuid() == 0:
            switch = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        folder = self.clone if self.clone.exists() else self.folder
        output = subprocess.DEVNULL if quiet else None
        return subprocess.call(
            words, cwd=folder, env=self.environment, stdout=output, stderr=output, **switch
        )

    def step(self, name: str, *words: str, must: bool = True) -> int:
        """Run one step and say how long it took; one that must succeed ends the proof when it does not."""
        started = time.monotonic()
        print(f"== {name}: {' '.join(words)}", flush=True)
        status = self.run(list(words))
        print(f"== {name}: exit status {status} after {time.monotonic() - started:.0f} s", flush=True)
        if must and status != 0:
            raise SystemExit(f"provision: {name} ended with exit status {status}")
        return status

    def sizes(self) -> None:
        """What lies on disk afterwards, in MiB."""
        cache = self.home / ".cache/hexapla"
        places = [self.folder / "venv", self.clone / "build", self.folder / "run", *sorted(cache.iterdir())]
        places += sorted((cache / "toolchains").iterdir())
        for place in filter(Path.is_dir, places):
            files = (each for each in place.rglob("*") if each.is_file() and not each.is_symlink())
            mib = sum(each.stat().st_blocks for each in files) >> 11  # ledgers are sparse
            print(f"{mib:6} MiB  {place.relative_to(self.folder)}")


def judge(results: Path) -> list[str]:
    """What is not as it must be, one line each."""
    if not results.exists():
        return [f"no {results.name}"]
    lines = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    by_name: dict[str, dict[str, dict[str, str]]] = {}
    for line in lines:
        if "level" in line:
            by_name.setdefault(line["implementation"], {})[line["level"]] = line
    problems = []
    for name in PROVISIONED:
        levels = by_name.get(name, {})
        for level in NEEDED:
            outcome = levels[level]["outcome"] if level in levels else "absent"
            if outcome not in GOOD:
                problems.append(f"{name}: {level}: {outcome}: {levels.get(level, {}).get('reason', '')}")
        for level, line in levels.items():
            if line["outcome"] not in ALLOWED:
                problems.append(f"{name}: {level}: {line['outcome']}: {line['reason']}")
    rust = list(by_name.get("rust", {}).values())
    if not rust or any(line["outcome"] != "skipped" for line in rust):
        problems.append(f"rust: must be skipped at every level, is {[line['outcome'] for line in rust]}")
    elif "apt-get install cargo" not in rust[0]["reason"]:
        problems.append(f"rust: skipped without the command that installs it: {rust[0]['reason']}")
    else:
        print(f"rust: {rust[0]['reason']}")
    return sorted(set(problems))


def main() -> int:
    parser = argparse.ArgumentParser(description="Prove the provisioning of tools; nox -s provision.")
    parser.add_argument("--user", default="nobody", help="whose rights to take when started by root")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work in this new folder and leave it")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True)
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="hexapla-provision-"))
    try:
        proof = Proof(folder.resolve(), arguments.user)
        proof.furnish()
        present = " ".join(sorted(each.name for each in proof.path.iterdir()))
        print(f"as {proof.user.pw_name} in {folder}; on the PATH: {present}", flush=True)
        tool = proof.folder / "venv/bin"
        proof.step("environment", "python3", "-m", "venv", str(tool.parent))
        proof.step("install", f"{tool}/python", "-m", "pip", "install", "-q", "-e", f"{proof.clone}[build]")
        proof.step("doctor", f"{tool}/hexapla", "doctor")
        results = proof.folder / "run"
        words = ["conform", "--spec", "micro", "--references", "oracle", "--results", str(results)]
        status = proof.step("conform", f"{tool}/hexapla", *words, must=False)
        proof.sizes()
        problems = judge(results / "results.jsonl")
        if status and not problems:
            problems = [f"conform ended with exit status {status}"]
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    for problem in problems:
        print(f"provision: {problem}")
    print("provision: failed" if problems else f"provision: {' '.join(PROVISIONED)} pass without a compiler")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
