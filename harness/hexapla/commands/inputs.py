"""What a run trains on: the embedded default, or what the command line names instead.

Separate because several commands take the same words (--spec, --corpus, --tokenizer, --model) and must
mean the same by them. Wrong input ends here, before anything is built or started.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from hexapla.data.adapter import make_initial_adapter
from hexapla.data.corpus import resolve_corpus
from hexapla.data.shapes import resolve_model
from hexapla.levels.level import Inputs
from hexapla.spec import Spec, load_spec
from hexapla.toolchains import Places

# `rendering` always goes through the whole embedded corpus, and through a given one beside it, at lengths
# that cut few records: at micro's 64 ids most real rows would be rejected before anything was compared.
_EMBEDDED_RENDER_LENGTH = 256
_CORPUS_RENDER_LENGTH = 1024


class UsageError(Exception):
    """A command line, spec or corpus that cannot be used: one line, exit status 2."""


class UnfinishedError(Exception):
    """A run that the machine does not let go on: one line, exit status 3; what was known is kept."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that choose inputs."""
    parser.add_argument("--spec", default="tiny", metavar="NAME|FILE", help="tiny, micro, full or a file")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="a built corpus, or its sources")
    parser.add_argument("--tokenizer", type=Path, metavar="DIR", help="a folder with tokenizer.json")
    parser.add_argument("--model", type=Path, metavar="DIR", help="a folder with config.json and safetensors")


def prepare(arguments: argparse.Namespace, places: Places, work: Path) -> Inputs:
    """Resolve all inputs and make the initial adapter under `work`. Raises UsageError, SpecError."""
    spec = load_spec(arguments.spec)
    embedded = Path(__file__).resolve().parents[1] / "data" / "embedded"
    tokenizer = _folder(arguments.tokenizer or embedded / "tokenizer", "tokenizer.json", "--tokenizer")
    if arguments.model is not None:
        model = _folder(arguments.model, "config.json", "--model")
    elif arguments.tokenizer is not None:
        model = _generated_model(tokenizer, places)
    else:
        model = embedded / "model"
    adapter = work / "adapter"
    try:
        make_initial_adapter(model, spec.values, adapter)
    except ValueError as error:
        raise UsageError(str(error)) from None
    records = embedded / "records"
    render_files = {
        f"{name}-{part}": records / name / f"{part}.jsonl"
        for name in ("tiny", "micro")
        for part in ("train", "heldout")
    }
    if arguments.corpus is not None:
        train, heldout = _corpus(arguments.corpus, places, spec)
        render_files = {"train": train, "heldout": heldout, **render_files}
        render_length = max(int(spec["length"]), _CORPUS_RENDER_LENGTH)
    else:
        shape = "micro" if spec.name == "micro" else "tiny"
        train, heldout = records / shape / "train.jsonl", records / shape / "heldout.jsonl"
        render_length = max(int(spec["length"]), _EMBEDDED_RENDER_LENGTH)
    return Inputs(
        spec=spec,
        model=model,
        tokenizer=tokenizer,
        train=train,
        heldout=heldout,
        adapter=adapter,
        render_files=render_files,
        render_length=render_length,
        work=work,
        headers=places.root / "core" / "include",
    )


def _folder(path: Path, file: str, word: str) -> Path:
    if not (path / file).is_file():
        raise UsageError(f"{word} {path}: no {file} in it")
    return path.resolve()


def _corpus(folder: Path, places: Places, spec: Spec) -> tuple[Path, Path]:
    if not folder.is_dir():
        raise UsageError(f"--corpus {folder}: no such folder")
    try:
        built = resolve_corpus(folder.resolve(), places.cache / "corpora", int(spec["seed"]))
    except ValueError as error:
        raise UsageError(f"--corpus {folder}: {error}") from None
    return built.train, built.heldout


def _generated_model(tokenizer: Path, places: Places) -> Path:
    """Base weights of a small shape at a foreign tokenizer's vocabulary, made once and cached."""
    try:
        return resolve_model(tokenizer, places.cache / "models")
    except ValueError as error:
        raise UsageError(f"--tokenizer {tokenizer}: {error}") from None
