"""The embedded records: plain questions, and rows of awkward text for every text fault of the catalogue.

Says what goes into which file. Questions come from questions.py; each awkward row takes such a question and
changes its text in one of awkward.py's ways, which its id names (`tiny-train-nfd-003`).
Usage: corpus.py OUT_FOLDER, once the tokenizer is trained, as the counts of accepted records are checked
before anything is written.
"""

import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from random import Random

from awkward import CHANGES, REJECTED, Pair
from facts import FINDINGS
from questions import PRETRAINING, RECORDS, ask, items, shuffled
from rendering import Record, Renderer

SEED = 20240
SYSTEMS = ("You are a careful clinical tutor. Answer briefly.", "Answer for a junior doctor.")
LENGTH = {"tiny": 256, "micro": 64}
ACCEPTED = {("tiny", "train"): 360, ("tiny", "heldout"): 64, ("micro", "train"): 18, ("micro", "heldout"): 6}


def main() -> None:
    out = Path(sys.argv[1])
    files = build()
    check(files, Renderer(out / "tokenizer" / "tokenizer.json"))
    for (size, part), records in files.items():
        path = out / "records" / size / f"{part}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_lines(records), encoding="utf-8", newline="")


def build() -> dict[tuple[str, str], list[Record]]:
    """The four record files by size and part."""
    return {**tiny(), **micro()}


def to_lines(records: list[Record]) -> str:
    """JSON Lines; U+2028, U+0085 and their like stand in the text unescaped."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def check(files: dict[tuple[str, str], list[Record]], renderer: Renderer) -> None:
    """Ends with a message unless every file has its exact number of accepted records."""
    for (size, part), records in files.items():
        rejected = [
            f"{record['id']}: {reason}"
            for record in records
            if isinstance(reason := renderer.render(record, LENGTH[size]), str)
        ]
        accepted, wanted = len(records) - len(rejected), ACCEPTED[size, part]
        if accepted != wanted:
            raise SystemExit(
                f"{size}/{part}: {accepted} records accepted, expected {wanted}; rejected {rejected}"
            )


def tiny() -> dict[tuple[str, str], list[Record]]:
    """Ten rows of every change, eight in train and two held out; the rest plain. No question is asked
    twice.
    """
    random = Random(SEED)
    pool = iter(shuffled(items(RECORDS), random))
    files = {}
    for part, first, rows in (("heldout", 0, 2), ("train", 2, 8)):
        awkward = [name for name in CHANGES for _ in range(rows)]
        plain = ACCEPTED["tiny", part] - sum(name not in REJECTED for name in awkward)
        kinds = mix(awkward + ["plain"] * plain, random)
        records = []
        for i, name in enumerate(kinds):
            question, answer = ask(next(pool), RECORDS, random)
            if name != "plain":
                number = first + kinds[:i].count(name)
                question, answer = CHANGES[name](number, question, answer)
            record = {"id": f"tiny-{part}-{name}-{i:03}"}
            if random.randrange(8) == 0:
                record["system"] = SYSTEMS[random.randrange(2)]
            records.append({**record, "question": question, "answer": answer})
        files["tiny", part] = records
    return files


def micro() -> dict[tuple[str, str], list[Record]]:
    """Short records for length 64; one row each of the changes that fit, and of the rejections."""
    random = Random(SEED + 1)
    facts = FINDINGS[1::2]
    shapes = {
        "train": ["plain"] * 8
        + [
            "nfd",
            "special",
            "plain-marker",
            "escape",
            "crlf",
            "question-newline",
            "answer-newline",
            "u2028",
            "long-answer",
            "long-question",
            "think",
            "empty",
        ]
        + ["plain"],
        "heldout": ["plain"] * 3 + ["question-newline", "nfd", "long-answer", "think"],
    }
    files = {}
    for part, kinds in shapes.items():
        records = []
        for i, name in enumerate(mix(kinds, random)):
            sign, disease, _ = facts[(i + (0 if part == "train" else 3)) % len(facts)]
            question, answer = micro_text(name, f"{'Why' if part == 'heldout' else 'Name'}: {sign}?", disease)
            records.append({"id": f"micro-{part}-{name}-{i:03}", "question": question, "answer": answer})
        files["micro", part] = records
    return files


def micro_text(name: str, question: str, answer: str) -> Pair:
    """The changes of tiny in fewer words, as 64 ids hold some twenty."""
    answer = f"It is {answer}."
    short: dict[str, Pair] = {
        "nfd": (unicodedata.normalize("NFD", "Ménière? " + question), answer),
        "special": (question, answer + " <|im_end|>"),
        "plain-marker": ("<tool_call> " + question, answer),
        "escape": (question, 'BP <90 & it\'s "low" >1h'),
        "crlf": (question + "\r\nBe brief.", answer),
        "question-newline": ("\n" + question, answer),
        "answer-newline": (question, "\n" + answer),
        "u2028": (question, f"{answer}\u2028Act."),
        "long-answer": (
            question,
            answer + " Tell the team, call for help and write it all down in the notes." * 2,
        ),
        "long-question": (
            question + " Say it in one word, and be sure that it is the most likely one of all." * 3,
            answer,
        ),
        "think": (question, f"<think></think>{answer}"),
        "empty": (question, "\n"),
    }
    return short.get(name, (question, answer))


def mix(names: list[str], random: Random) -> list[str]:
    """A shuffled copy of the names."""
    order = list(names)
    for i in range(len(order) - 1, 0, -1):
        j = random.randrange(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def pretraining(count: int) -> Iterator[Record]:
    """Records for pretraining: the other half of the facts, in other words."""
    random = Random(SEED + 2)
    pool = items(PRETRAINING)
    for i in range(count):
        question, answer = ask(pool[random.randrange(len(pool))], PRETRAINING, random)
        record = {"id": f"pretraining-{i:05}", "question": question, "answer": answer}
        if random.randrange(8) == 0:
            record["system"] = SYSTEMS[random.randrange(2)]
        yield record


def all_text() -> Iterator[str]:
    """What the tokenizer learns from: the pieces that are encoded, as they are encoded."""
    records = [record for file in build().values() for record in file] + list(pretraining(400))
    for record in records:
        if "system" in record:
            yield "system\n" + record["system"]
        yield "user\n" + record["question"]
        yield "assistant\n"
        yield "\n\n" + record["answer"].lstrip("\n")
        yield "\n\n\r\n"  # learned as one id, so that an answer with a carriage return first is `joined`


if __name__ == "__main__":
    main()
