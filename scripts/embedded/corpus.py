"""The embedded records: plain questions, and rows of awkward text for every text fault of the catalogue.

Says what goes into which file. Questions come from questions.py; each awkward row takes such a question and changes
its text in one known way, which its id names (`tiny-train-nfd-003`). Usage: corpus.py OUT_FOLDER, once the tokenizer
is trained: the counts of accepted records are checked before anything is written.
"""

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from facts import ACCENTED, FINDINGS
from questions import PRETRAINING, RECORDS, ask, items, shuffled
from rendering import Record, Renderer

SEED = 20240
SYSTEMS = ("You are a careful clinical tutor. Answer briefly.", "Answer for a junior doctor.")
SPECIAL_MARKERS = ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|vision_pad|>")
PLAIN_MARKERS = ("<tool_call>", "</think>", "<think>", "<|fim_prefix|>", "</tool_response>")
LENGTH = {"tiny": 256, "micro": 64}
ACCEPTED = {("tiny", "train"): 360, ("tiny", "heldout"): 64, ("micro", "train"): 18, ("micro", "heldout"): 6}

Pair = tuple[str, str]
Change = Callable[[int, str, str], Pair]


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
            raise SystemExit(f"{size}/{part}: {accepted} records accepted, expected {wanted}; rejected {rejected}")


# ---- awkward text -------------------------------------------------------------------------------------------------


def accents(n: int, question: str, answer: str) -> Pair:
    """Decomposed accents in both texts: a tokenizer without NFC gives other ids."""
    name, sign = ACCENTED[n % len(ACCENTED)]
    text = f"The patient also has {name} with {sign}. {question}", f"{answer} {name} explains {sign}."
    return unicodedata.normalize("NFD", text[0]), unicodedata.normalize("NFD", text[1])


def special_marker(n: int, question: str, answer: str) -> Pair:
    """Text of an added token flagged special, in the question or the answer."""
    marker = SPECIAL_MARKERS[n % len(SPECIAL_MARKERS)]
    if n % 2:
        return question, f"{answer} The export left {marker} here."
    return f"The note stops at {marker} after an export. {question}", answer


def plain_marker(n: int, question: str, answer: str) -> Pair:
    """Text of an added token not flagged special; a closing think tag only in questions."""
    marker = PLAIN_MARKERS[n % len(PLAIN_MARKERS)]
    if n % 2 or marker == "</think>":
        return f"The note holds {marker} from a tool. {question}", answer
    return question, f"{answer} Ignore the {marker} in the note."


def escapes(n: int, question: str, answer: str) -> Pair:
    """Every character an HTML or JSON writer would escape."""
    return (
        f"BP <{90 + n}/60 & pulse >{100 + n}; the patient's note says \"dizzy\". {question}",
        f"{answer} Don't wait if BP <{90 + n} & pulse >{100 + n}: it's \"unstable\".",
    )


def carriage_returns(n: int, question: str, answer: str) -> Pair:
    """CRLF between the lines of the question and inside the answer."""
    return f"Note {n}.\n{question}".replace("\n", "\r\n"), f"{answer}\r\nSee note {n}."


def newline_before_question(n: int, question: str, answer: str) -> Pair:
    """Joins with the role's own newline; encoded apart from the role it gives other ids."""
    return "\n" * (1 + n % 2) + question, answer


def newline_before_answer(n: int, question: str, answer: str) -> Pair:
    """Is dropped by the rendering."""
    return question, "\n" * (1 + n % 3) + answer


def untrimmed(n: int, question: str, answer: str) -> Pair:
    """White space at both ends that nobody may trim."""
    return question + " \n"[n % 2], f"{' ' * (1 + n % 2)}{answer}\n"


def nul(n: int, question: str, answer: str) -> Pair:
    """U+0000, which is data: a C string would end there."""
    return f"Field {n}\x00 {question}", f"{answer} End\x00 of field {n}."


def astral(n: int, question: str, answer: str) -> Pair:
    """Characters of two UTF-16 units and of four UTF-8 bytes."""
    return f"\U0001d6fd-blocker row {n} \U0001fa7a. {question}", f"{answer} \U0001f48a {n}"


def separator(character: str) -> Change:
    """A character that some readers take for the end of a line, or for a plain space."""

    def change(n: int, question: str, answer: str) -> Pair:
        return f"Day {n}{character}{question}", f"{answer}{character}Reviewed on day {n}."

    return change


def long_answer(n: int, question: str, answer: str) -> Pair:
    """Over-length with labels left: the cut falls into the answer."""
    seen = [FINDINGS[(n + i) % len(FINDINGS)] for i in range(14)]
    return question, answer + "".join(f" Recall {a}: {b}, as {c}." for a, b, c in seen)


def long_question(n: int, question: str, answer: str) -> Pair:
    """Over-length with no label left: rejected as no_label."""
    seen = [FINDINGS[(n + i) % len(FINDINGS)] for i in range(20)]
    return "".join(f"On day {i} the note reads: {a}. " for i, (a, _, _) in enumerate(seen)) + question, answer


def think_tag(n: int, question: str, answer: str) -> Pair:
    """A closing think tag in the answer: rejected."""
    return question, f"<think>Compare the options.</think> {answer}" if n % 2 else f"{answer} </think>"


def no_answer(n: int, question: str, answer: str) -> Pair:
    """Nothing, or newlines alone: rejected as empty."""
    return question, "\n" * (n % 3)


def joined_answer(n: int, question: str, answer: str) -> Pair:
    """A carriage return first: its newlines merge with the template's, so the prefix's ids are not there; rejected."""
    return question, "\r\n" + answer


CHANGES: dict[str, Change] = {
    "nfd": accents, "special": special_marker, "plain-marker": plain_marker, "escape": escapes,
    "crlf": carriage_returns, "untrimmed": untrimmed, "nul": nul, "astral": astral,
    "question-newline": newline_before_question, "answer-newline": newline_before_answer,
    "u2028": separator("\u2028"), "u0085": separator("\u0085"), "u00a0": separator("\u00a0"),
    "long-answer": long_answer, "long-question": long_question, "think": think_tag, "empty": no_answer,
    "joined": joined_answer,
}
REJECTED = ("long-question", "think", "empty", "joined")


# ---- files --------------------------------------------------------------------------------------------------------


def tiny() -> dict[tuple[str, str], list[Record]]:
    """Ten rows of every change, eight in train and two held out; the rest plain. No question is asked twice."""
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
        "train": ["plain"] * 8 + ["nfd", "special", "plain-marker", "escape", "crlf", "question-newline",
                                  "answer-newline", "u2028", "long-answer", "long-question", "think", "empty"]
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
        "escape": (question, "BP <90 & it's \"low\" >1h"),
        "crlf": (question + "\r\nBe brief.", answer),
        "question-newline": ("\n" + question, answer),
        "answer-newline": (question, "\n" + answer),
        "u2028": (question, f"{answer}\u2028Act."),
        "long-answer": (question, answer + " Tell the team, call for help and write it all down in the notes." * 2),
        "long-question": (question + " Say it in one word, and be sure that it is the most likely one of all." * 3,
                          answer),
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


# ---- text for pretraining and for the tokenizer --------------------------------------------------------------------


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
