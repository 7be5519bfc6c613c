"""The level `abi`: what the C compiler sees is the truth, and every kind of difference is named."""

from __future__ import annotations

import copy
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hexapla.levels.abi import Abi, Layout, layout_of_headers
from hexapla.levels.level import NotApplicable
from hexapla.levels.session import RequestSkipped
from hexapla.protocol import Hello, Outcome

HEADERS = Path(__file__).resolve().parents[2] / "core" / "include"
COMPILER = shutil.which("cc")


@dataclass(frozen=True)
class _Inputs:
    """What the judge reads of Inputs."""

    headers: Path
    c_compiler: tuple[str, ...]
    work: Path


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    if COMPILER is None:
        pytest.skip("no C compiler: cc")
    return layout_of_headers(HEADERS, (COMPILER,), tmp_path_factory.mktemp("layout"))


def reason(layout: Layout, tmp_path: Path) -> str:
    """What the judge says of one implementation; "" when it passes."""
    assert COMPILER is not None
    inputs = _Inputs(HEADERS, (COMPILER,), tmp_path)
    finding = Abi().judge({"zig": layout}, {"zig": "core"}, inputs)["zig"]  # type: ignore[arg-type]
    assert (finding.outcome is Outcome.PASS) == (finding.reason == "")
    return finding.reason


def test_the_headers_are_read_whole(right: Layout, tmp_path: Path) -> None:
    assert right["types"]["hxp_ledger_record"]["size"] == 64
    assert right["types"]["hxp_ledger_record"]["fields"]["sequence"] == [56, 8]
    assert right["types"]["hxp_pressure_hook"]["size"] == 8
    assert right["constants"]["HXP_INTERNAL"] == 13
    assert right["constants"]["HXP_OPERATION_CHECKPOINT_WRITE"] == 97
    assert reason(right, tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "core", "raised"),
    [("go", "core 1", RequestSkipped), ("native", "core 1", NotApplicable), ("torch", None, NotApplicable)],
)
def test_who_does_not_answer(name: str, core: str | None, raised: type[Exception]) -> None:
    """Only what sees no C layout is not asked: the question has a meaning for all others on core."""
    hello = Hello("h", 1, name, "x", "", "core", core, [], ["load"])
    session: Any = SimpleNamespace(name=name, greet=lambda: hello)
    inputs: Any = None
    with pytest.raises(raised):
        Abi().observe(session, inputs)


def test_every_difference_is_named(right: Layout, tmp_path: Path) -> None:
    moved, resized, missing, unknown, renumbered, older = (copy.deepcopy(right) for _ in range(6))
    moved["types"]["hxp_memory"]["fields"]["live_bytes"] = [16, 8]
    assert "zig: hxp_memory.live_bytes: offset 16, size 8, not 8, 8" in reason(moved, tmp_path)
    resized["types"]["hxp_error"]["size"] = 1020
    assert "hxp_error: size 1020, not 1024" in reason(resized, tmp_path)
    del missing["types"]["hxp_tape"]
    assert "type hxp_tape is missing" in reason(missing, tmp_path)
    unknown["constants"]["HXP_EXTRA"] = 1
    assert "constant HXP_EXTRA is unknown to the headers" in reason(unknown, tmp_path)
    renumbered["constants"]["HXP_BUSY"] = 7
    assert "HXP_BUSY is 7, not 6" in reason(renumbered, tmp_path)
    older["abi_version"] = 0
    assert "abi_version 0, not 1" in reason(older, tmp_path)
