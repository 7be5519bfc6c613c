"""Turns the rows of facts.py into questions and answers, for pretraining and for the record files.

Apart from corpus.py, which decides how many of which and adds the awkward text: nothing here knows of
record files, tokens or faults. The two styles ask the same kinds of question in different words, so that
a model pretrained on one still has something to learn from the other. Everything random comes from the
caller's generator.
"""

from dataclasses import dataclass
from random import Random

from facts import DRUGS, FINDINGS, INTERACTIONS, LABS

PRETRAINING, RECORDS = 0, 1
PARITY = {PRETRAINING: 0, RECORDS: 1}  # which rows of every table a style may ask about

Row = tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """One kind of question: its table, the column asked for, and per style its stems and its rationales."""

    table: list[Row]
    column: int
    stems: tuple[tuple[str, ...], tuple[str, ...]]
    rationales: tuple[tuple[str, ...], tuple[str, ...]]


KINDS = [
    Kind(
        DRUGS,
        1,
        (
            ("To which class does {0} belong?", "What kind of drug is {0}?"),
            (
                "Which class of drug is {0}, given for {2}?",
                "A pharmacist asks how {0} is classified. What is it?",
                "{0} is started today. Name its class.",
            ),
        ),
        (
            ("{0} is a {1}; it is used for {2}.",),
            ("The drug {0} acts as a {1} and helps in {2}.", "As a {1}, {0} can cause {3}."),
        ),
    ),
    Kind(
        DRUGS,
        2,
        (
            ("What is {0} used for?", "Which condition is treated with {0}?"),
            (
                "A patient takes {0} at {5}. What is the most likely indication?",
                "Which disease is the usual reason to start the {1} {0}?",
                "The chart lists {0} without a reason. Which one fits best?",
            ),
        ),
        (
            ("{0} is used for {2} because it is a {1}.",),
            ("Doctors choose {0}, a {1}, for {2}.", "In {2} the usual dose of {0} is {5}."),
        ),
    ),
    Kind(
        DRUGS,
        3,
        (
            ("Which adverse effect is typical of {0}?", "What harm may {0} cause?"),
            (
                "A patient on {0} for {2} reports a new problem. Which one fits the drug?",
                "Before {0} is given, which side effect should be explained?",
                "Which complaint should make you think of {0}?",
            ),
        ),
        (
            ("{0} may cause {3}, so watch {4}.",),
            ("Look for {3} in everyone who takes {0}, and check {4}.", "A {1} such as {0} is known for {3}."),
        ),
    ),
    Kind(
        DRUGS,
        4,
        (
            ("What should be monitored with {0}?", "Which test follows the use of {0}?"),
            (
                "The clinic reviews a patient on {0}. What should be checked each time?",
                "Which value is followed while {0} is given for {2}?",
                "{0} may cause {3}. What do you follow?",
            ),
        ),
        (
            ("Monitor {4}, since {0} may cause {3}.",),
            ("With {0} the team follows {4}.", "Because of {3}, {4} is checked while on {0}."),
        ),
    ),
    Kind(
        DRUGS,
        5,
        (
            ("What is the usual dose of {0}?", "How is {0} dosed in an adult?"),
            (
                "An adult starts {0} for {2}. Which dose is usual?",
                "The nurse asks for the order of {0}. What do you write?",
                "Which adult dose of {0} is right?",
            ),
        ),
        (("The usual dose of {0} is {5}.",), ("Start {0} at {5} and follow {4}.", "Write {0} {5} for {2}.")),
    ),
    Kind(
        INTERACTIONS,
        2,
        (
            ("What happens when {0} and {1} are combined?", "Which risk follows {1} added to {0}?"),
            (
                "A patient on {0} is given {1}. Which problem is expected?",
                "Why should {0} and {1} be kept apart?",
                "Which harm links {0} with {1}?",
            ),
        ),
        (
            ("{0} with {1} leads to {2}, because {3}.",),
            ("Expect {2} since {3}.", "When {3}, the result is {2}."),
        ),
    ),
    Kind(
        INTERACTIONS,
        3,
        (
            ("How do {0} and {1} interact?", "Why is {0} dangerous with {1}?"),
            (
                "Giving {1} to a patient on {0} led to {2}. What is the mechanism?",
                "Which mechanism explains {2} under {0} and {1}?",
                "{0} meets {1}. What goes wrong in the body?",
            ),
        ),
        (
            ("The reason is that {3}, which leads to {2}.",),
            ("This is how {2} comes about.", "So {0} and {1} cause {2}."),
        ),
    ),
    Kind(
        FINDINGS,
        1,
        (
            ("Which diagnosis fits {0}?", "What explains {0}?"),
            (
                "A patient comes with {0}. What is the diagnosis?",
                "On the ward round the student presents {0}. Name the disease.",
                "The referral letter reads: {0}. What is most likely?",
            ),
        ),
        (("{0} suggests {1}, because {2}.",), ("In {1} {2}.", "Think of {1}: {2}.")),
    ),
    Kind(
        FINDINGS,
        2,
        (
            ("Why does {1} cause {0}?", "What is the mechanism of {1}?"),
            (
                "Explain {0} in a patient with {1}.",
                "What goes wrong in {1}?",
                "A family asks what {1} means. What do you tell them?",
            ),
        ),
        (("In {1} {2}.",), ("That is why the patient has {0}.", "Hence {0}, the hallmark of {1}.")),
    ),
    Kind(
        LABS,
        1,
        (
            ("What is the lower limit of {0}?", "Below which value is {0} low?"),
            (
                "The report shows {0} in {3}. Where does the normal range begin?",
                "A {0} result is flagged low. Below what?",
                "Which value in {3} is the lowest normal {0}?",
            ),
        ),
        (
            ("The range of {0} is {1} to {2} {3}.",),
            ("Normal {0} runs from {1} to {2} {3}.", "A {0} under {1} {3} points to {5}."),
        ),
    ),
    Kind(
        LABS,
        4,
        (
            ("What raises {0}?", "A high {0} suggests what?"),
            (
                "The laboratory calls: {0} is above {2} {3}. Which cause comes first?",
                "Which condition drives {0} above {2}?",
                "{0} is high on two samples. Think of what?",
            ),
        ),
        (
            ("{0} above {2} {3} suggests {4}.",),
            ("A {0} over {2} {3} is seen in {4}.", "High values go with {4}, low ones with {5}."),
        ),
    ),
    Kind(
        LABS,
        5,
        (
            ("What lowers {0}?", "A low {0} suggests what?"),
            (
                "The laboratory calls: {0} is below {1} {3}. Which cause comes first?",
                "Which condition brings {0} under {1}?",
                "{0} is low on two samples. Think of what?",
            ),
        ),
        (
            ("{0} below {1} {3} suggests {5}.",),
            ("A {0} under {1} {3} is seen in {5}.", "Low values go with {5}, high ones with {4}."),
        ),
    ),
]

OPENINGS = ("", "", "A {age}-year-old {who} attends the clinic. ", "Case {age}: a {who}, seen at night. ")
WHO = ("woman", "man", "teacher", "farmer", "nurse", "student")


@dataclass(frozen=True)
class Item:
    """A question that can be asked: which kind, which row of its table, which stem."""

    kind: Kind
    row: Row
    stem: str


def items(style: int) -> list[Item]:
    """Every question a style can ask, in the order of the tables."""
    return [
        Item(kind, row, stem)
        for kind in KINDS
        for row in kind.table[PARITY[style] :: 2]
        for stem in kind.stems[style]
    ]


def ask(item: Item, style: int, random: Random) -> tuple[str, str]:
    """Question and answer of one item. Three of five carry the options `A) …` to `D) …`, a line each."""
    right = item.row[item.kind.column]
    opening = OPENINGS[random.randrange(len(OPENINGS))].format(
        age=20 + random.randrange(70), who=WHO[random.randrange(len(WHO))]
    )
    question = opening + sentence(item.stem.format(*item.row))
    rationales = item.kind.rationales[style]
    rationale = sentence(rationales[random.randrange(len(rationales))].format(*item.row))
    if random.randrange(5) >= 3:
        return question, f"{sentence(right)}. {rationale}"
    options = wrong_answers(item, random)
    position = random.randrange(4)
    options.insert(position, right)
    lines = [f"{letter}) {option}" for letter, option in zip("ABCD", options, strict=True)]
    return "\n".join([question, *lines]), f"{lines[position]}. {rationale}"


def wrong_answers(item: Item, random: Random) -> list[str]:
    """Three other values of the same column, distinct."""
    column = sorted({row[item.kind.column] for row in item.kind.table} - {item.row[item.kind.column]})
    return [column.pop(random.randrange(len(column))) for _ in range(3)]


def shuffled(values: list[Item], random: Random) -> list[Item]:
    """A shuffled copy; Fisher-Yates on randrange, so that no other Python can order it otherwise."""
    order = list(values)
    for i in range(len(order) - 1, 0, -1):
        j = random.randrange(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
