"""Case J4 on step times made by hand, and growth and limits on series and questions whose answer is known."""

from __future__ import annotations

import pytest
from hexapla.compare.growth import growth
from hexapla.compare.slowdown import Pace, pace_of
from hexapla.envelope.load import load_bounds
from hexapla.levels.limits import Smallest, smallest_limit

BOUNDS = load_bounds("memory")
J4 = [100.0] * 59 + [700.0] * 41


def test_slow_from_step_60_on_is_memory_pressure_by_step_65() -> None:
    verdict = pace_of(J4, BOUNDS)
    assert verdict.pace is Pace.MEMORY_PRESSURE
    assert verdict.since == 60
    assert verdict.flagged <= 65
    assert verdict.ratio == 7
    assert "from step 60 on" in verdict.words
    assert pace_of(J4[:65], BOUNDS).pace is Pace.MEMORY_PRESSURE


def test_not_flagged_before_it_is_certain() -> None:
    assert pace_of(J4[:62], BOUNDS).pace is Pace.STEADY


def test_one_slow_step_is_nothing() -> None:
    steps = [100.0] * 100
    steps[59] = 700.0
    assert pace_of(steps, BOUNDS).pace is Pace.STEADY


def test_a_slow_first_step_is_nothing() -> None:
    assert pace_of([5000.0, *[100.0] * 30], BOUNDS).pace is Pace.STEADY


def test_a_busy_machine_alone_is_noisy() -> None:
    """The same times, but spent in the run queue."""
    waited = [1.0] * 59 + [590.0] * 41
    verdict = pace_of(J4, BOUNDS, waited)
    assert verdict.pace is Pace.NOISY
    assert verdict.since == 60


def test_a_busy_machine_does_not_excuse_what_it_did_not_cause() -> None:
    waited = [1.0] * 59 + [50.0] * 41
    assert pace_of(J4, BOUNDS, waited).pace is Pace.MEMORY_PRESSURE


def test_slow_now_and_then_is_noisy() -> None:
    steps = [100.0, 100.0, 100.0, 700.0] * 10
    assert pace_of(steps, BOUNDS).pace is Pace.NOISY


def test_a_short_run_says_nothing() -> None:
    assert pace_of([100.0] * 9, BOUNDS).pace is Pace.UNKNOWN


def test_growth_of_a_constant_is_zero() -> None:
    flat = growth({update: 5.0 for update in range(2, 13)})
    assert flat is not None
    assert (flat.slope, flat.low, flat.high) == (0, 0, 0)
    assert flat.within(0)


def test_growth_of_a_leak_is_found_and_its_interval_holds_the_truth() -> None:
    leak = growth({update: 1e6 + 25_000.0 * update + (-1) ** update * 500 for update in range(2, 13)})
    assert leak is not None
    assert leak.low < 25_000 < leak.high
    assert not leak.within(0)


def test_noise_is_no_growth() -> None:
    noise = growth({update: 1e6 + (-1) ** update * 5e4 for update in range(2, 13)})
    assert noise is not None and noise.low < 0 < noise.high
    assert noise.within(0)


def test_two_updates_show_no_growth() -> None:
    assert growth({1: 1.0, 2: 2.0}) is None


@pytest.mark.parametrize("count", [3, 5, 12, 13, 40])
def test_t_is_students(count: int) -> None:
    """Against a table: the half width of a series with one deviation, over its standard error."""
    table = {3: 12.706, 5: 3.182, 12: 2.228, 13: 2.201, 40: 2.024}
    values = {update: float(update == 1) for update in range(count)}
    found = growth(values)
    assert found is not None
    middle = (count - 1) / 2
    intercept = sum(values.values()) / count - found.slope * middle
    squares = sum((y - intercept - found.slope * x) ** 2 for x, y in values.items())
    error = (squares / (count - 2) / sum((x - middle) ** 2 for x in values)) ** 0.5
    assert (found.high - found.slope) / error == pytest.approx(table[count], rel=1e-3)


@pytest.mark.parametrize("least", [1, 999, 1000, 1001, 3000, 7999])
def test_the_smallest_limit_is_found(least: int) -> None:
    asked: list[int] = []

    def works(limit: int) -> bool:
        asked.append(limit)
        return limit >= least

    found = smallest_limit(works, guess=1000, resolution=4, ceiling=8000)
    assert found is not None
    assert least <= found.limit < least + 4
    assert found.tries == len(asked) == len(set(asked))


def test_a_right_guess_costs_two_questions() -> None:
    assert smallest_limit(lambda limit: limit >= 1000, 1000, 4, 8000) == Smallest(1000, 4, 2)


def test_no_limit_helps() -> None:
    assert smallest_limit(lambda _limit: False, 1000, 4, 8000) is None
