"""The runtime and the C trainer under AddressSanitizer with UBSan, and under ThreadSanitizer.

stress.cpp and the C trainer are built with the same flags as the core they load. The trainer then goes
through the protocol: a whole micro run pinned and migrating, an evaluation, the cases with known answers
and every probe that provokes threads, ownership or errors. Any report ends the process, so a clean run is
one whose every request ended as expected and whose exit status is 0. Takes minutes to build, so it runs
when asked for: `nox -s sanitize`, or HEXAPLA_SANITIZE=address,thread (or one of them).

OpenBLAS is not instrumented, so what its own code does is not watched; it needs no suppression.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from core_library import INCLUDE, REPOSITORY, build
from hexapla.data.adapter import make_initial_adapter
from hexapla.levels.exact import exact_cases
from hexapla.process import Launch, Trainer, TrainerFailure
from hexapla.protocol import CaseResult, Done, Probe
from hexapla.spec import load_spec
from hexapla.toolchains import load_manifest
from safetensors.numpy import save_file

WANTED = [word for word in os.environ.get("HEXAPLA_SANITIZE", "").split(",") if word]
FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}
OPTIONS = {
    "ASAN_OPTIONS": "halt_on_error=1:exitcode=99:detect_leaks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=99",
}
EMBEDDED = REPOSITORY / "harness/hexapla/data/embedded"


@pytest.fixture(scope="module", params=["address", "thread"])
def sanitizer(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name not in WANTED:
        pytest.skip(f"slow: set HEXAPLA_SANITIZE={name}")
    if not shutil.which("g++") or not shutil.which("gcc"):
        pytest.skip("gcc and g++ not found")
    return name


def run(name: str, argument: str, sanitizer: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a C++ program beside this file with the core of its sanitizer, and run it."""
    library = build(sanitizer).parent
    program = folder / name
    source = Path(__file__).with_name(f"{name}.cpp")
    flags = ["-std=c++20", "-g", "-O1", *FLAGS[sanitizer], f"-I{INCLUDE}", f"-L{library}"]
    link = ["-lhexapla", f"-Wl,-rpath,{library}", "-pthread"]
    subprocess.run(["g++", *flags, str(source), *link, "-o", str(program)], check=True)
    environment = {**os.environ, **OPTIONS}
    command = [str(program), argument]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.timeout(1800)
def test_a_planted_fault_is_reported(sanitizer: str, tmp_path: Path) -> None:
    """Without it nobody would know that the clean runs below could have been otherwise."""
    done = run("planted", sanitizer, sanitizer, tmp_path)
    words = {"address": "heap-buffer-overflow", "thread": "data race"}
    assert done.returncode == 99 and words[sanitizer] in done.stderr, (done.returncode, done.stderr[-4000:])
    assert "core/src/" in done.stderr, done.stderr[-4000:]


@pytest.mark.timeout(1800)
def test_stress_is_clean(sanitizer: str, tmp_path: Path) -> None:
    done = run("stress", str(tmp_path / "ledger.bin"), sanitizer, tmp_path)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-4000:]


def build_trainer(sanitizer: str, folder: Path) -> Path:
    """The C trainer by the words of its own manifest, the sanitizer's flags behind the optimizer's."""
    manifest = load_manifest(REPOSITORY / "bindings/c")
    library = build(sanitizer).parent
    values = {
        "{cc}": "gcc",
        "{include}": str(INCLUDE),
        "{build}": str(folder),
        "{library_dir}": str(library),
    }
    [words] = manifest.build
    command = []
    for word in words:
        text = word
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)
        command += ["-O1", "-g", *FLAGS[sanitizer]] if text == "-O2" else [text]
    subprocess.run(command, cwd=manifest.folder, check=True)
    return folder / "trainer"


class Asked:
    """One trainer process and the inputs that requests of `micro` need."""

    def __init__(self, program: Path, work: Path) -> None:
        self.work = work
        self.spec = load_spec("micro")
        self.adapter = work / "adapter"
        make_initial_adapter(EMBEDDED / "model", self.spec.values, self.adapter)
        environment = {**os.environ, **OPTIONS}
        # A sanitized process is slow, and slower on a busy machine; a hang still ends.
        launch = Launch("c", [str(program)], work, environment, "C", 300.0, work)
        self.trainer = Trainer(launch)
        self.count = 0

    def ask(self, request: str, **keys: Any) -> list[Any]:
        """The events of a request that must end in `done`; else the trainer's stderr."""
        self.count += 1
        try:
            answer = self.trainer.ask(request, f"{request}-{self.count}", **keys)
        except TrainerFailure as failure:
            log = (self.work / "stderr" / "c.log").read_text("utf-8", "replace")
            pytest.fail(f"{failure}\n{log[-6000:]}")
        assert isinstance(answer.end, Done), answer.end
        return answer.events

    def context(self) -> dict[str, Any]:
        ledger = str(self.work / f"ledger-{self.count}.bin")
        return {"device": "cpu:0", "threads": 2, "memory_limit": 0, "spill": False, "ledger": ledger}

    def inputs(self, **keys: Any) -> dict[str, Any]:
        return {
            "spec": self.spec.values,
            "model": str(EMBEDDED / "model"),
            "tokenizer": str(EMBEDDED / "tokenizer"),
            "heldout": str(EMBEDDED / "records/micro/heldout.jsonl"),
            "adapter": str(self.adapter),
            **keys,
        }

    def train(self, **keys: Any) -> dict[str, Any]:
        self.count += 1
        return self.inputs(
            spec_digest=self.spec.digest,
            train=str(EMBEDDED / "records/micro/train.jsonl"),
            output=str(self.work / f"output-{self.count}"),
            resume_from=None,
            stop_after=None,
            **{"schedule": "pinned", "release": "explicit", **keys},
        )

    def probe(self, scenario: str, **parameters: Any) -> dict[str, Any]:
        events = self.ask("probe", scenario=scenario, parameters=parameters, context=self.context())
        [probe] = [event for event in events if isinstance(event, Probe)]
        return probe.seen


@pytest.fixture(scope="module")
def asked(sanitizer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    work = tmp_path_factory.mktemp(sanitizer)
    trainer = Asked(build_trainer(sanitizer, work), work)
    yield trainer
    trainer.trainer.kill()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("schedule", ["pinned", "migrating"])
def test_training_is_clean(asked: Asked, schedule: str) -> None:
    steps = asked.ask("train", context=asked.context(), **asked.train(schedule=schedule))
    assert sum(type(event).__name__ == "Step" for event in steps) == asked.spec["updates"]


@pytest.mark.timeout(1800)
def test_evaluation_is_clean(asked: Asked) -> None:
    events = asked.ask("evaluate", context=asked.context(), **asked.inputs())
    assert [type(event).__name__ for event in events] == ["Evaluation"]


@pytest.mark.timeout(1800)
def test_known_answers_are_clean(asked: Asked) -> None:
    cases = [each.case for each in exact_cases()]
    file, output = asked.work / "in.safetensors", asked.work / "out.safetensors"
    save_file({f"{case.name}.{key}": each for case in cases for key, each in case.tensors.items()}, file)
    messages = [case.message for case in cases]
    keys = {"cases": messages, "file": str(file), "output": str(output)}
    events = asked.ask("operators", context=asked.context(), **keys)
    results = [event for event in events if isinstance(event, CaseResult)]
    assert len(results) == len(cases) and all(each.ok for each in results), results


PROBES: list[tuple[str, dict[str, int]]] = [
    ("device_of_context", {"workers": 8, "rounds": 20, "blocked": 4}),
    ("error_text", {"workers": 4, "calls": 100}),
    ("drop_in_loop", {"bytes": 4096, "turns": 500, "close": 1}),
    ("drop_in_loop", {"bytes": 4096, "turns": 500, "close": 0}),
    ("accessors", {"repeats": 20}),
    ("copies", {"repeats": 20}),
    ("drop_orders", {"seed": 1, "orders": 20}),
    ("double_release", {}),
    ("use_after_release", {}),
    ("release_elsewhere", {}),
    ("close_race", {"rounds": 50}),
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("scenario", "parameters"), PROBES)
def test_probe_is_clean(asked: Asked, scenario: str, parameters: dict[str, int]) -> None:
    assert asked.probe(scenario, **parameters)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("scenario", "parameters"),
    [
        ("two_contexts", {"updates": 2}),
        ("scope", {"bytes": 4096, "turns": 3}),
        ("caught_errors", {"bytes": 4096, "turns": 3}),
        ("fail_allocation", {"nth": 40, "persistent": 0}),
        ("write_fails", {"limit_bytes": 4096}),
    ],
)
def test_probe_with_a_run_is_clean(asked: Asked, scenario: str, parameters: dict[str, int]) -> None:
    assert asked.probe(scenario, **parameters, train=asked.train())


@pytest.mark.timeout(1800)
def test_it_ends_clean(asked: Asked) -> None:
    """Leaks and what is found at exit: `close` holds the exit status to what the events say."""
    try:
        bye = asked.trainer.close()
    except TrainerFailure as failure:
        log = (asked.work / "stderr" / "c.log").read_text("utf-8", "replace")
        pytest.fail(f"{failure}\n{log[-6000:]}")
    assert bye.handles_live == 0
