"""The awkward text of the embedded records: one change of question and answer for every text fault.

A change takes its own running number, a plain question and its answer, and gives both back changed. Apart
from corpus.py, which decides how many rows each change gets.
"""

import unicodedata
from collections.abc import Callable

from facts import ACCENTED, FINDINGS

SPECIAL_MARKERS = ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|vision_pad|>")
PLAIN_MARKERS = ("<tool_call>", "</think>", "<think>", "<|fim_prefix|>", "</tool_response>")

Pair = tuple[str, str]
Change = Callable[[int, str, str], Pair]


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
        f'BP <{90 + n}/60 & pulse >{100 + n}; the patient\'s note says "dizzy". {question}',
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
    """A carriage return first: its newlines merge with the template's, so the prefix's ids are not there;
    rejected.
    """
    return question, "\r\n" + answer


CHANGES: dict[str, Change] = {
    "nfd": accents,
    "special": special_marker,
    "plain-marker": plain_marker,
    "escape": escapes,
    "crlf": carriage_returns,
    "untrimmed": untrimmed,
    "nul": nul,
    "astral": astral,
    "question-newline": newline_before_question,
    "answer-newline": newline_before_answer,
    "u2028": separator("\u2028"),
    "u0085": separator("\u0085"),
    "u00a0": separator("\u00a0"),
    "long-answer": long_answer,
    "long-question": long_question,
    "think": think_tag,
    "empty": no_answer,
    "joined": joined_answer,
}
REJECTED = ("long-question", "think", "empty", "joined")
