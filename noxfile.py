"""The front door: `nox -l` is the manual. Sessions pass their words on and hold no logic of their own.

`pip install nox && nox -s conformance` is all that a new machine needs. Environments are kept between
runs. Torch is installed first and alone, so that nothing else can pull another build of it; where it
cannot be installed, the run goes on and the reference `torch` is skipped by name.
"""

from __future__ import annotations

import nox
from nox.command import CommandFailed

nox.options.sessions = ["conformance"]
nox.options.reuse_venv = "yes"
nox.options.default_venv_backend = "venv"

TORCH = "torch==2.13.0"


def install(session: nox.Session, *extras: str, torch: bool = False) -> None:
    """This package, editable, with its extras; torch before it where it is asked for."""
    chosen = list(extras)
    if torch:
        try:
            session.install("-q", TORCH)
            chosen.append("torch")
        except CommandFailed:
            session.warn(f"{TORCH} could not be installed; the reference torch will be skipped")
    session.install("-q", "-e", f".[{','.join(chosen)}]")


@nox.session
def conformance(session: nox.Session) -> None:
    """All levels over all implementations; words behind -- go to `hexapla conform`."""
    install(session, "build", torch=True)
    session.run("hexapla", "conform", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """The project's own tests; words behind -- go to pytest (-m slow: those that take minutes each)."""
    install(session, "build", "test", torch=True)
    session.run("pytest", "-q", "-m", "not slow", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Formatting, lint and types of the Python code."""
    install(session, "test")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")


@nox.session
def zoo(session: nox.Session) -> None:
    """The harness proves that it can fail: its fakes twenty times in a row, with counts."""
    install(session, "test")
    env = {"HEXAPLA_ZOO_REPEAT": "20"}
    session.run("pytest", "-q", "tests/harness/test_zoo.py", *session.posargs, env=env)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Core's readers (words behind --, as --seconds 60) and the harness's readers, some minutes long."""
    install(session, "test")
    session.run("python", "core/fuzz/run.py", *session.posargs)
    session.run(
        *("pytest", "-q", "--hypothesis-profile", "fuzz", "--timeout", "1800"),
        "tests/harness/test_fuzz.py",
    )


@nox.session
def sanitize(session: nox.Session) -> None:
    """Core and the C trainer under sanitizers: behind -- address, thread or both (the default)."""
    install(session, "build", "test")
    env = {"HEXAPLA_SANITIZE": ",".join(session.posargs or ("address", "thread"))}
    session.run("pytest", "-q", "tests/core/test_sanitized.py", env=env)


@nox.session
def faults(session: nox.Session) -> None:
    """A core made wrong in one way at a time, most of an hour; HEXAPLA_FAULT_RESULTS=FILE writes it down."""
    install(session, "build", "test", torch=True)
    session.run("pytest", "-q", "tests/faults", *session.posargs)


@nox.session
def repeat(session: nox.Session) -> None:
    """The runtime levels twenty times in a row, with a page in docs/results; behind --, as --times 5."""
    install(session, "build")
    session.run("python", "scripts/repeat_runtime.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Step times, wall times and the cost of a call, interleaved; words behind -- go to `hexapla bench`."""
    install(session, "build", torch=True)
    session.run("hexapla", "bench", *session.posargs)


@nox.session
def doctor(session: nox.Session) -> None:
    """The tools found on this machine, and who needs them."""
    install(session, "build")
    session.run("hexapla", "doctor", *session.posargs)


@nox.session
def bounds(session: nox.Session) -> None:
    """Measure torch's error op by op again and write it as a bound's data."""
    install(session, "build", torch=True)
    session.run("python", "-m", "hexapla.levels.record", *session.posargs)


@nox.session(python=False)
def provision(session: nox.Session) -> None:
    """Prove, in a fresh clone and without a compiler, that packages bring the tools; minutes, 2 GB."""
    session.run("python3", "scripts/prove_provision.py", *session.posargs, external=True)


@nox.session
def memory(session: nox.Session) -> None:
    """Device memory against its recorded baseline; --rebaseline --reason TEXT behind -- records it anew."""
    install(session, "build")
    session.run("hexapla", "memory", *session.posargs)


@nox.session(python=False)
def clean(session: nox.Session) -> None:
    """Remove build outputs and old runs; environments and the cache stay."""
    session.run("git", "clean", "-fdXq", "build", "runs", external=True)
