"""From the bindings on disk to participants that can be asked: manifests read, core and bindings built.

Separate from the run so that `--list`, `doctor` and `run` need no level. What goes wrong for one
implementation is that one's finding; the others go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hexapla.commands.inputs import UsageError
from hexapla.levels.level import Finding
from hexapla.levels.run import Participant
from hexapla.levels.session import ContextChoice, Session
from hexapla.process import DeviceWatch, Launch, gauge_of
from hexapla.process.device_memory import sources_of
from hexapla.process.sampler import Sampler
from hexapla.protocol import Event, Outcome, Reason
from hexapla.toolchains import (
    BuildError,
    Built,
    Core,
    Manifest,
    ManifestError,
    Places,
    ToolchainMissing,
    build_binding,
    build_core,
    find_bindings,
    load_manifest,
)
from hexapla.toolchains.manifest import FILE_NAME

Say = Callable[[str], None]
REFERENCES = ("torch", "oracle")


@dataclass(frozen=True, slots=True)
class Found:
    """A binding's folder with its manifest, or with what is wrong with it."""

    name: str
    folder: Path
    manifest: Manifest | None
    problem: str = ""


@dataclass
class Preparation:
    """Builds core once, when the first implementation needs it; takes the device's level before any runs.

    `core_fault`: a fault's name or "none" builds the core that can be made wrong, apart from the normal one.
    """

    places: Places
    results: Path
    choice: ContextChoice
    say: Say
    on_event: Callable[[str, Event], None]
    core_fault: str = ""
    device: DeviceWatch = field(init=False)
    sampler: Sampler = field(init=False)
    _core: Core | Exception | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.core_fault:
            self.places = replace(self.places, build=self.places.build / "faults")
        gauge = gauge_of(self.choice.device, self.results / "ledger")
        self.device = DeviceWatch(gauge)
        self.sampler = Sampler(self.results / "samples", sources_of(self.choice.device, gauge))

    def prepare(self, found: Found) -> Participant:
        """Build one implementation; a failure becomes its `unready`."""
        manifest = found.manifest
        if manifest is None:
            return _unready(found.name, "other", Outcome.FAIL, f"{Reason.BAD_MANIFEST}: {found.problem}")
        try:
            core = self.built_core() if manifest.needs_core else None
            built = build_binding(manifest, self.places, core)
        except ToolchainMissing as missing:
            return _unready(manifest.name, manifest.stack, Outcome.SKIPPED, str(missing))
        except (BuildError, OSError) as error:  # a build folder that cannot be written is its build's failure
            self.say(f"build {manifest.name}: failed: {error}")
            return _unready(
                manifest.name, manifest.stack, Outcome.FAIL, f"{Reason.BUILD_FAILED}: {error}", manifest
            )
        if manifest.build:
            self.say(f"build {manifest.name}: {built.seconds:.1f} s")
        launch = launch_of(built, self.results, self.device, self.sampler)
        if self.core_fault:
            environment = {**launch.environment, "HXP_FAULT": self.core_fault}
            launch = replace(launch, environment=environment, core_fault=self.core_fault)
        session = Session(launch, self.choice, self.on_event)
        return Participant(manifest.name, manifest.stack, manifest.expected_failures, session)

    def c_compiler(self) -> tuple[str, ...]:
        """The words of the C compiler that core was built with; () when no implementation needed core."""
        return self._core.c_compiler if isinstance(self._core, Core) else ()

    def built_core(self) -> Core:
        if self._core is None:
            try:
                self._core = build_core(self.places, faults=bool(self.core_fault))
                self.say(f"build core: {self._core.seconds:.1f} s ({self._core.compiler})")
            except (BuildError, ToolchainMissing) as error:
                self._core = error
        if isinstance(self._core, Exception):
            raise self._core
        return self._core


def launch_of(
    built: Built, results: Path, device: DeviceWatch | None = None, sampler: Sampler | None = None
) -> Launch:
    """How to start a built binding; held to its device's level, and looked at, where these are given."""
    return Launch(
        name=built.manifest.name,
        argv=built.argv,
        directory=built.manifest.folder,
        environment={**os.environ, **built.environment},
        language=built.manifest.language,
        silence_s=built.manifest.silence_s,
        results=results,
        device=device,
        sampler=sampler,
    )


def find(chosen: Sequence[str], places: Places, references: str) -> list[Found]:
    """The implementations of a run, references first.

    chosen: names, or folders with a binding.toml; none means all that are no reference. references: `all`,
    `none`, or one's name; one that is chosen by name runs whatever this says.
    Raises UsageError for a name that is not there and for two implementations of one name.
    """
    known = [_read(folder) for folder in find_bindings(places)]
    wanted = REFERENCES if references == "all" else (references,)
    if not chosen:
        picked = [found for found in known if found.name not in REFERENCES or found.name in wanted]
    else:
        by_name = {found.name: found for found in known}
        picked = []
        for word in chosen:
            if word in by_name:
                picked.append(by_name[word])
            elif (Path(word) / FILE_NAME).is_file():
                picked.append(_read(Path(word)))
            elif Path(word).is_dir():
                inner = sorted(path.parent for path in Path(word).glob(f"*/{FILE_NAME}"))
                if not inner:
                    raise UsageError(f"--binding {word}: no {FILE_NAME} in it")
                picked += [_read(folder) for folder in inner]
            else:
                raise UsageError(f"--binding {word}: neither a folder nor one of {', '.join(by_name)}")
        picked = [found for found in known if found.name in wanted and found not in picked] + picked
    names = [found.name for found in picked]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise UsageError(f"--binding: two implementations are named {doubled[0]}")
    return sorted(picked, key=lambda found: (found.name not in REFERENCES, names.index(found.name)))


def _read(folder: Path) -> Found:
    try:
        manifest = load_manifest(folder)
    except ManifestError as error:
        return Found(folder.name, folder, None, str(error))
    return Found(manifest.name, folder, manifest)


def _unready(
    name: str, stack: str, outcome: Outcome, reason: str, manifest: Manifest | None = None
) -> Participant:
    expected = manifest.expected_failures if manifest else {}
    return Participant(name, stack, expected, None, Finding(outcome, reason, "none"))
