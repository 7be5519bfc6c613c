"""MedMCQA's official files: JSON Lines with `question`, `opa` … `opd`, `exp`, `id`.

The answer is `exp`, the explanation; `cop`, the right option's number, is not asked for.
"""

from collections.abc import Iterator
from pathlib import Path

from hexapla.data.source import Row, explanation, objects, option, text, with_options


def rows(file: Path) -> Iterator[Row]:
    """Every row of one file, in its order. CorpusError names the line that is not a row."""
    for where, row in objects(file):
        stem = text(row, "question", where)
        options = [(letter, option(row, f"op{letter.lower()}", where)) for letter in "ABCD"]
        yield Row(
            id=f"medmcqa/{file.stem}/{text(row, 'id', where)}",
            stem=stem,
            question=with_options(stem, options),
            answer=explanation(row, "exp", where),
            where=where,
        )
