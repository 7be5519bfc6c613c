"""MedQA-USMLE's official files: JSON Lines with `question`, `options` by letter, `answer`, `answer_idx`.

The files explain nothing: the answer is the right option's text. Rows have no id of their own and are
named by line.
"""

from collections.abc import Iterator
from pathlib import Path

from hexapla.data.source import CorpusError, Row, explanation, objects, option, text, with_options


def rows(file: Path) -> Iterator[Row]:
    """Every row of one file, in its order. CorpusError names the line that is not a row."""
    for number, (where, row) in enumerate(objects(file), start=1):
        stem = text(row, "question", where)
        options = row.get("options")
        if not isinstance(options, dict) or not options:
            raise CorpusError(f"{where}: options must be an object of letter and text, found {options!r:.60}")
        listed = [(letter, option(options, letter, where)) for letter in options]
        right, answer = row.get("answer_idx"), explanation(row, "answer", where)
        if answer is not None and (right, answer) not in listed:
            raise CorpusError(f"{where}: answer {answer!r:.60} is not the text of option {right!r}")
        yield Row(
            id=f"medqa/{file.stem}/{number:06}",
            stem=stem,
            question=with_options(stem, listed),
            answer=answer,
            where=where,
        )
