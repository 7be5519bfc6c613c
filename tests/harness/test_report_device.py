"""Core's ledger in a report: the ring read whole, torn records left out, names as in the C headers."""

import re
import struct
from pathlib import Path

import pytest
from hexapla.protocol.ledger import OPERATIONS, STATUSES, last_calls, read_records
from hexapla.report.device import Device, operation_name, read_device, status_name
from synthetic_runs import write_ledger

HEADERS = Path(__file__).parents[2] / "core" / "include" / "hexapla"


def test_names_are_the_headers() -> None:
    operations = re.findall(r"HXP_OPERATION_([A-Z_]+) = (\d+)", (HEADERS / "ledger.h").read_text("utf-8"))
    assert {int(number): name.lower() for name, number in operations} == OPERATIONS
    statuses = re.findall(r"(HXP_[A-Z_]+) = (\d+)", (HEADERS / "status.h").read_text("utf-8"))
    assert [name for name, _ in statuses] == list(STATUSES)
    assert [int(number) for _, number in statuses] == list(range(len(STATUSES)))


@pytest.mark.parametrize(("calls", "kept"), [(0, 0), (10, 10), (64, 64), (100, 64), (1000, 64)])
def test_the_ring_in_order(tmp_path: Path, calls: int, kept: int) -> None:
    records = read_records(write_ledger(tmp_path / "train.bin", calls, capacity=64))
    assert records["sequence"].tolist() == list(range(calls - kept + 1, calls + 1))


def test_a_torn_record_is_left_out(tmp_path: Path) -> None:
    path = write_ledger(tmp_path / "train.bin", 10, capacity=64)
    data = bytearray(path.read_bytes())
    data[4096 + 3 * 64 + 56 : 4096 + 4 * 64] = struct.pack("<Q", 0)
    path.write_bytes(data)
    assert read_records(path)["sequence"].tolist() == [1, 2, 3, 5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize("size", [0, 10, 60, 4096, 4100])
def test_a_short_file_is_an_answer(tmp_path: Path, size: int) -> None:
    path = write_ledger(tmp_path / "train.bin", 10, capacity=64)
    path.write_bytes(path.read_bytes()[:size])
    assert len(read_records(path)) == 0
    assert last_calls(path, 5) == []


def test_live_memory_and_last_calls(tmp_path: Path) -> None:
    write_ledger(tmp_path / "train.bin", 5000, capacity=4096)
    device = read_device(tmp_path)
    assert len(device.calls) == 10 and device.calls[-1].sequence == 5000
    assert (operation_name(device.calls[-1]), status_name(device.calls[-1])) == ("swiglu", "HXP_OK")
    assert len(device.live_mib) <= 300
    assert max(device.live_mib.values()) == 31.0
    assert read_device(tmp_path / "absent") == Device()
