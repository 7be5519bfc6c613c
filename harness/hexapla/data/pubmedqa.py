"""PubMedQA's PQA-L: the official object by PMID (`.json`), and its copy as JSON Lines (`.jsonl`).

The question is QUESTION alone: it is the stem, there are no options, and the abstract in CONTEXTS would
answer for the model (its conclusion is LONG_ANSWER). The JSON Lines copy puts the abstract before the
question, a paragraph a line; its stem is the last line and its `answer_rationale` the LONG_ANSWER.
"""

from collections.abc import Iterator
from pathlib import Path

from hexapla.data.source import CorpusError, Row, explanation, objects, text
from hexapla.protocol.lines import LineError, parse_object


def rows(file: Path) -> Iterator[Row]:
    """Every row of one file, in its order. CorpusError names the line, or the PMID, that is not a row."""
    return _lines(file) if file.suffix == ".jsonl" else _by_pmid(file)


def _by_pmid(file: Path) -> Iterator[Row]:
    try:
        articles = parse_object(file.read_bytes())
    except LineError as error:
        raise CorpusError(f"{file}: {error}; PQA-L is one object by PMID") from None
    for pmid, article in articles.items():
        where = f"{file}:{pmid}"
        if not isinstance(article, dict):
            raise CorpusError(f"{where}: expected an object, found {article!r:.60}")
        stem = text(article, "QUESTION", where)
        answer = explanation(article, "LONG_ANSWER", where)
        yield Row(f"pubmedqa/{file.stem}/{pmid}", stem, stem, answer, where)


def _lines(file: Path) -> Iterator[Row]:
    for where, row in objects(file):
        stem = text(row, "question", where).rstrip().rsplit("\n", 1)[-1]
        answer = explanation(row, "answer_rationale", where)
        yield Row(f"pubmedqa/{file.stem}/{text(row, 'realidx', where)}", stem, stem, answer, where)
