"""The statistics of SPEC against figures worked out by hand, and t quantiles against the printed table."""

import math

import pytest
from hexapla.compare.bounds import Provenance, RoundingFloor, SeedEnvelope, Yardsticks
from hexapla.compare.equivalence import equivalence_of, t_probability, t_quantile
from hexapla.compare.statistics import measure, measure_residual, reference_of, relative_difference
from hexapla.compare.trajectory import Series
from hexapla.envelope.load import load_bounds

GIVEN = Provenance("given", "by this test")


@pytest.mark.parametrize(
    ("probability", "degrees", "table"),
    [
        (0.95, 1, 6.314), (0.95, 2, 2.920), (0.95, 3, 2.353), (0.95, 5, 2.015), (0.95, 6, 1.943),
        (0.975, 10, 2.228), (0.99, 4, 3.747), (0.95, 30, 1.697), (0.95, 120, 1.658), (0.5, 7, 0.0),
    ],
)  # fmt: skip
def test_t_quantile_is_the_tables(probability: float, degrees: int, table: float) -> None:
    assert t_quantile(probability, degrees) == pytest.approx(table, abs=5.1e-4)
    assert t_probability(t_quantile(probability, degrees), degrees) == pytest.approx(probability, abs=1e-12)


def test_equivalence_by_hand() -> None:
    # Mean 2, standard deviation 1 of 3 values: standard error 0.57735, half width 2.91999 times that.
    found = equivalence_of([1.0, 2.0, 3.0], 5.0)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.314146, 3.685854), abs=1e-5)
    assert found.equivalent
    narrow = equivalence_of([1.0, 2.0, 3.0], 3.0)
    assert narrow is not None and not narrow.equivalent


def test_equivalence_that_says_nothing_is_unknown() -> None:
    assert equivalence_of([1.0], 5.0) is None
    assert equivalence_of([1.0, math.nan], 5.0) is None
    for margin in (None, 0.0):
        found = equivalence_of([1.0, 2.0], margin)
        assert (
            found is not None
            and found.p is None
            and found.equivalent is None
            and found.low < 1.5 < found.high
        )
    same = equivalence_of([0.0, 0.0], 1e-6)
    assert same is not None and same.p == 0.0


def test_relative_difference() -> None:
    assert relative_difference(1.1, 1.0) == pytest.approx(0.1)
    assert relative_difference(0.0, 0.0) == 0.0
    assert relative_difference(1.0, 0.0) == math.inf
    assert math.isnan(relative_difference(math.nan, 1.0))
    assert math.isnan(relative_difference(math.inf, math.inf))


def test_residual_by_hand() -> None:
    # Relative differences 0.1, 0, 0.3, 0.2; signs + 0 - +: two changes, the zero skipped.
    found = measure_residual(
        {1: 11.0, 2: 5.0, 3: 0.7, 4: 2.4, 9: 1.0}, {1: 10.0, 2: 5.0, 3: 1.0, 4: 2.0, 8: 1.0}
    )
    assert found.count == 4
    assert found.unpaired == (8, 9)
    assert found.mean == pytest.approx(0.15)
    assert found.median == pytest.approx(0.15)
    assert (found.max, found.max_update) == (pytest.approx(0.3), 3)
    assert found.std == pytest.approx(0.1290994449)
    assert found.sign_changes == 2
    assert found.end_difference == pytest.approx(0.4)
    assert found.first_outside(0.15) == 3
    assert found.first_outside(0.5) is None


def test_nan_is_outside_every_bound() -> None:
    found = measure_residual({1: 1.0, 2: math.nan, 3: 1.0}, {1: 1.0, 2: 1.0, 3: 1.0})
    assert found.first_outside(1e9) == 2
    assert found.mean is not None and math.isnan(found.mean)
    assert found.max_update == 2
    assert found.std is None


def test_nothing_in_common_is_unknown() -> None:
    found = measure_residual({1: 1.0}, {2: 1.0})
    assert found.mean is found.max is found.std is None
    assert found.unpaired == (1, 2)


def curve(*values: float) -> Series:
    return Series(heldout_ce=dict(enumerate(values)))


def test_update_0_is_apart() -> None:
    found = measure(curve(9.0, 1.0, 1.0), curve(3.0, 1.0, 1.0), ("c", "torch"), Yardsticks())
    assert found.heldout_ce.max == 0.0
    assert found.untrained_total_rel == pytest.approx(2.0)


def test_all_statistics_are_always_there() -> None:
    names = set(measure(Series(), Series(), ("c", "torch"), Yardsticks()).as_dict())
    same = measure(
        curve(1, 2, 3), curve(1, 2, 4), ("c", "torch"), Yardsticks(load_bounds("paired_tiny"))
    ).as_dict()
    assert names == set(same)
    assert same["seed_envelope_multiple"] is None
    assert same["first_outside_update"] == 2


def test_floor_bounds_and_envelope_sizes_apart() -> None:
    floor = RoundingFloor({"heldout_ce_rel_mean": 1e-7}, 8, GIVEN)
    envelope = SeedEnvelope({"heldout_ce_rel_mean": 1e-3}, 8, GIVEN)
    a, b = curve(1, 1 + 2e-6, 1 + 4e-6), curve(1, 1, 1)
    found = measure(a, b, ("c", "torch"), Yardsticks(floor=floor, envelope=envelope))
    assert found.floor_multiple == pytest.approx(30.0)
    assert found.envelope_multiple == pytest.approx(3e-3)
    assert found.envelope_equivalence is not None and found.envelope_equivalence.equivalent
    assert found.equivalence is not None and found.equivalence.equivalent is None


def test_a_floor_of_zero() -> None:
    floor = RoundingFloor({"heldout_ce_rel_mean": 0.0}, 8, GIVEN)
    assert floor.multiple("heldout_ce_rel_mean", 0.0) == 0.0
    assert floor.multiple("heldout_ce_rel_mean", 1e-16) == math.inf
    assert floor.multiple("step_loss_rel_max", 0.0) is None


@pytest.mark.parametrize(
    ("one", "other", "pair"),
    [
        ("torch", "go", ("go", "torch")), ("go", "torch", ("go", "torch")),
        ("torch", "oracle", ("oracle", "torch")),
        ("oracle", "c", ("c", "oracle")), ("c", "zig", ("zig", "c")), ("go", "zig", ("go", "zig")),
    ],
)  # fmt: skip
def test_who_is_the_reference(one: str, other: str, pair: tuple[str, str]) -> None:
    assert reference_of(one, other) == pair
