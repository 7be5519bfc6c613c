"""Builds a corpus, train.jsonl and heldout.jsonl, from published question files, and accounts for every
row.

Decides what is kept, what is a duplicate, what is rejected and what is held out; the formats are the
converters'. Sources are read in the order medmcqa, medqa, pubmedqa; a source's files `.json` first, then
`.jsonl`, each by name. A rejected row claims no stem: a later row with the same question and an
explanation is still converted.
"""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hexapla.data import medmcqa, medqa, pubmedqa
from hexapla.data.files import new_folder, sha256_of
from hexapla.data.order import epoch_order
from hexapla.data.source import CorpusError, Row

FORMAT = 1  # of manifest.json; raised when the same sources would give other records
SOURCES: dict[str, Callable[[Path], Iterator[Row]]] = {
    "medmcqa": medmcqa.rows,
    "medqa": medqa.rows,
    "pubmedqa": pubmedqa.rows,
}
NO_EXPLANATION = "no_explanation"
ROWS_PER_HELD_OUT = 50  # held out: floor(0.02 n)


@dataclass
class FileCount:
    """What became of one source file's rows."""

    path: str
    sha256: str
    rows: int = 0
    converted: int = 0
    duplicate: int = 0
    rejected: dict[str, int] = field(default_factory=dict)

    def check(self) -> None:
        """CorpusError unless every row is converted, duplicate or rejected."""
        told = self.converted + self.duplicate + sum(self.rejected.values())
        if told != self.rows:
            raise CorpusError(f"{self.path}: {self.rows} rows, but {told} accounted for")


@dataclass(frozen=True)
class Manifest:
    """manifest.json of a built folder. `rows` and the counts are sums over `files`."""

    format: int
    seed: int
    files: list[FileCount]
    rows: int
    converted: int
    duplicate: int
    rejected: dict[str, int]
    train: int
    heldout: int
    train_sha256: str
    heldout_sha256: str


@dataclass(frozen=True)
class Corpus:
    """A folder of records, ready to be trained on."""

    folder: Path

    @property
    def train(self) -> Path:
        return self.folder / "train.jsonl"

    @property
    def heldout(self) -> Path:
        return self.folder / "heldout.jsonl"


def build(source: Path, out: Path, seed: int) -> Manifest:
    """Convert the files under `source` and write the folder `out`: train.jsonl, heldout.jsonl,
    manifest.json.

    `source` holds one or more of the folders medmcqa, medqa and pubmedqa. `out` must not exist, or be
    empty; it appears whole or not at all. CorpusError for a bad row, and for fewer than 50 rows left.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CorpusError(f"{out}: exists and is not empty; remove it or name another folder")
    counts, kept = convert(source)
    held_count = len(kept) // ROWS_PER_HELD_OUT
    if not held_count:
        raise CorpusError(
            f"{source}: {len(kept)} rows left, so that none is held out; at least 50 are needed"
        )
    held = set(epoch_order(seed, 0, len(kept))[:held_count])
    with new_folder(out) as folder:
        _write_records(folder / "train.jsonl", [row for i, row in enumerate(kept) if i not in held])
        _write_records(folder / "heldout.jsonl", [row for i, row in enumerate(kept) if i in held])
        manifest = _manifest(folder, counts, seed, len(kept), held_count)
        content = json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n"
        (folder / "manifest.json").write_text(content, encoding="utf-8", newline="\n")
    return manifest


def resolve_corpus(path: Path, cache: Path, seed: int) -> Corpus:
    """The corpus at `path` if it is a built one, else what its sources build into `cache`.

    A build is found again by its sources' digests and the seed. A built folder whose files are no longer
    those of its manifest is a CorpusError.
    """
    corpus = Corpus(path)
    if not (corpus.train.is_file() and corpus.heldout.is_file()):
        digest = hashlib.sha256(f"{FORMAT} {seed}".encode())
        for name, file in source_files(path):
            digest.update(f"\n{name}/{file.name} {sha256_of(file)}".encode())
        corpus = Corpus(cache / f"corpus-{digest.hexdigest()[:16]}")
        if not corpus.folder.is_dir():
            build(path, corpus.folder, seed)
    _check_built(corpus.folder)
    return corpus


def source_files(source: Path) -> list[tuple[str, Path]]:
    """The files to convert with their source's name, in order. CorpusError if there is none."""
    found = [
        (name, file)
        for name in SOURCES
        for suffix in (".json", ".jsonl")
        for file in sorted((source / name).glob(f"*{suffix}"))
    ]
    if not found:
        names = ", ".join(f"{name}/" for name in SOURCES)
        raise CorpusError(
            f"{source}: neither a built corpus (train.jsonl, heldout.jsonl)"
            f" nor sources ({names} with .json or .jsonl)"
        )
    return found


def convert(source: Path) -> tuple[list[FileCount], list[Row]]:
    """Every source file's count, and the rows left, in source order."""
    counts: list[FileCount] = []
    kept: list[Row] = []
    stems: set[str] = set()
    ids: set[str] = set()
    for name, file in source_files(source):
        count = FileCount(f"{name}/{file.name}", sha256_of(file))
        for row in SOURCES[name](file):
            count.rows += 1
            stem = fold(row.stem)
            if row.id in ids:
                raise CorpusError(f"{row.where}: id {row.id} was already used")
            ids.add(row.id)
            if row.answer is None:
                count.rejected[NO_EXPLANATION] = count.rejected.get(NO_EXPLANATION, 0) + 1
            elif stem in stems:
                count.duplicate += 1
            else:
                count.converted += 1
                stems.add(stem)
                kept.append(row)
        count.check()
        counts.append(count)
    return counts, kept


def fold(stem: str) -> str:
    """What makes two stems equal: NFC, case folding, runs of white space as one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", stem).casefold().split())


def _manifest(folder: Path, counts: list[FileCount], seed: int, kept: int, held: int) -> Manifest:
    rejected: dict[str, int] = {}
    for count in counts:
        for reason, number in count.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + number
    converted = sum(count.converted for count in counts)
    if converted != kept:
        raise CorpusError(f"{converted} rows converted, but {kept} kept")
    return Manifest(
        format=FORMAT,
        seed=seed,
        files=counts,
        rows=sum(count.rows for count in counts),
        converted=converted,
        duplicate=sum(count.duplicate for count in counts),
        rejected=rejected,
        train=kept - held,
        heldout=held,
        train_sha256=sha256_of(folder / "train.jsonl"),
        heldout_sha256=sha256_of(folder / "heldout.jsonl"),
    )


def _write_records(file: Path, rows: list[Row]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        for row in rows:
            record = {"id": row.id, "question": row.question, "answer": row.answer}
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _check_built(folder: Path) -> None:
    file = folder / "manifest.json"
    if not file.is_file():
        return  # records somebody wrote by hand: there is nothing to hold them to
    try:
        manifest: Any = json.loads(file.read_text(encoding="utf-8"))
        expected = {name: manifest[f"{name}_sha256"] for name in ("train", "heldout")}
    except (ValueError, KeyError, TypeError):
        raise CorpusError(f"{file}: not the manifest of a built corpus; build it again") from None
    for name, digest in expected.items():
        if sha256_of(folder / f"{name}.jsonl") != digest:
            raise CorpusError(
                f"{folder / name}.jsonl: changed since it was built; build it again or drop {file.name}"
            )
