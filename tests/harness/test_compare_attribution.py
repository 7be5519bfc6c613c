"""The axis is named from who disagrees with whom, and never guessed."""

import itertools

from hexapla.compare.attribution import Agreement, Attribution, Axis, attribute

STACKS = {"torch": "torch", "oracle": "numpy", "c": "core", "python": "core", "go": "core"}


def named(
    *apart: str, without: tuple[str, ...] = (), modes: dict[str, bool | None] | None = None
) -> Attribution:
    """Every pair compared; two agree when both or neither belong to one same group of `apart` (one letter
    string a group, names joined by +)."""
    group = {name: index for index, names in enumerate(apart, 1) for name in names.split("+")}
    names = [name for name in STACKS if name not in without]
    pairs = [Agreement(a, b, group.get(a, 0) == group.get(b, 0)) for a, b in itertools.combinations(names, 2)]
    return attribute(STACKS, pairs, modes)


def test_everything_agrees() -> None:
    found = named()
    assert found.axis is Axis.NONE
    assert "evidence for the tested configuration only" in found.words


def test_all_core_against_torch_and_oracle_is_the_stack() -> None:
    found = named("c+python+go")
    assert (found.axis, found.implementations) == (Axis.STACK, ("c", "go", "python"))


def test_one_trainer_against_its_siblings() -> None:
    for name in ("c", "python", "go"):
        found = named(name)
        assert (found.axis, found.implementations) == (Axis.ORCHESTRATION_OR_RUNTIME, (name,))


def test_of_two_trainers_the_references_say_which() -> None:
    found = named("python", without=("go",))
    assert (found.axis, found.implementations) == (Axis.ORCHESTRATION_OR_RUNTIME, ("python",))
    alone = named("python", without=("go", "torch", "oracle"))
    assert alone.axis is Axis.AMBIGUOUS


def test_two_trainers_that_part_in_bits_only_are_ambiguous() -> None:
    pairs = [
        Agreement("python", "c", False),
        Agreement("c", "torch", True),
        Agreement("python", "torch", True),
    ]
    assert attribute(STACKS, pairs).axis is Axis.AMBIGUOUS


def test_two_schedulers_are_the_runtime_whatever_else() -> None:
    found = named("go", modes={"go": False, "c": True, "python": None})
    assert (found.axis, found.implementations) == (Axis.RUNTIME, ("go",))


def test_one_reference_alone_is_ambiguous_but_named() -> None:
    for name in ("torch", "oracle"):
        found = named(name)
        assert (found.axis, found.implementations) == (Axis.AMBIGUOUS, (name,))


def test_core_against_a_single_reference_is_not_guessed() -> None:
    found = named("c+python+go", without=("oracle",))
    assert found.axis is Axis.AMBIGUOUS


def test_two_things_at_once_are_ambiguous() -> None:
    assert named("c+python", "go").axis is Axis.AMBIGUOUS
    assert named("c", "python").axis is Axis.AMBIGUOUS
    assert named("torch", "oracle", "c+python+go").axis is Axis.AMBIGUOUS


def test_silence_is_not_agreement() -> None:
    found = attribute(STACKS, [Agreement("go", "torch", None)])
    assert found.axis is Axis.NONE
    assert "nothing is known" in found.words


def test_siblings_that_were_never_compared_do_not_stand_together() -> None:
    pairs = [Agreement("go", "c", False), Agreement("python", "c", False)]
    assert attribute(STACKS, pairs).axis is Axis.AMBIGUOUS
