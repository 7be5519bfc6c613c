"""Atomic file and folder writes, and the digest of a file: the small things every writer of data shares.

Nothing is ever half overwritten: a file is written beside its place and renamed, a folder likewise.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`, which afterwards holds all of it or what it held before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=".partial")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A fresh folder to fill, renamed to `path` when the block ends well and removed when it does not.

    A folder that another process put at `path` meanwhile is kept, and ours dropped: callers name folders
    by content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=path.name + ".", suffix=".partial"))
    partial.chmod(0o755)
    try:
        yield partial
        try:
            partial.rename(path)
        except OSError:
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
