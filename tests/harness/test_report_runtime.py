"""The report's table of runtimes: figures of levels and samples side by side, absent ones said to be so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hexapla.protocol.results import Header, Line, Outcome, ResultsWriter
from hexapla.report.model import read_report
from hexapla.report.page import render_page
from hexapla.report.runtime import runtime_rows
from hexapla.report.samples import read_samples
from synthetic_ledger import Entry, write_ledger

MIB = 1 << 20


def summary(**changed: Any) -> str:
    """The last line of one process."""
    values: dict[str, Any] = {
        "threads_seen": 9,
        "core_changes": 4,
        "affinity_changes": 0,
        "switches_voluntary": 100,
        "switches_involuntary": 20,
        "rss_bytes_peak": 50 * MIB,
        "swap_bytes_peak": 0,
        "descriptors_peak": 7,
        "children_peak": 0,
        "device_bytes_peak": 12 * MIB,
        "device_source": "core's counters",
    }
    return json.dumps({"summary": values | changed}) + "\n"


def results(folder: Path) -> Path:
    """A run of go, which was sampled and asked, and of torch, of which nothing is known."""
    with ResultsWriter(folder, Header(implementations={"go": {}, "torch": {}})) as writer:
        figures = {
            "device_bytes_peak": 12 * MIB,
            "limit_bytes_smallest": 11 * MIB,
            "collector_score": 1.25,
            "handles_left": 0,
        }
        writer.write(Line("go", "none", "memory", Outcome.PASS, figures=figures))
        writer.write(
            Line("go", "none", "threads", Outcome.PASS, figures={"threads_seen": 12, "migrations": 11})
        )
        writer.write(Line("torch", "none", "memory", Outcome.NOT_APPLICABLE, "core does not drive it"))
        writer.finish()
    (folder / "samples").mkdir()
    (folder / "samples" / "go.jsonl").write_text('{"time_s": 1}\ntorn' + "\n" + summary() + summary())
    return folder


def test_figures_of_levels_and_of_samples(tmp_path: Path) -> None:
    rows = dict(runtime_rows(read_report(results(tmp_path)), "go"))
    assert rows["threads"] == "12"
    assert rows["migrations"] == "11"
    assert rows["peak"] == "12.00 MiB"
    assert rows["smallest limit"] == "11.00 MiB"
    assert rows["collector score"] == "1.25"
    assert rows["handle balance"] == "0"
    assert rows["with the collector"] == "not available"
    assert rows["switches, forced"] == "40"
    assert rows["open files"] == "7"
    assert rows["device memory by"] == "core's counters"


def test_nothing_known_is_no_row_and_no_zero(tmp_path: Path) -> None:
    report = read_report(results(tmp_path))
    assert runtime_rows(report, "torch") == []
    page = render_page(report)
    assert 'id="runtime"' in page
    assert "12.00 MiB" in page


def test_hidden_device_memory_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(summary(device_bytes_peak=None, device_source="not available"))
    samples = read_samples(tmp_path / "x.jsonl")
    assert "device_bytes_peak" not in samples.values
    assert samples.source == "not available"
    assert read_samples(tmp_path / "absent.jsonl").values == {}


def test_live_memory_is_drawn_without_a_trajectory_too(tmp_path: Path) -> None:
    folder = results(tmp_path)
    entries = [Entry("add", live=MIB * number) for number in range(1, 5)]
    write_ledger(folder / "ledger" / "go" / "memory-plain.bin", entries, peak=4 * MIB)
    report = read_report(folder)
    assert max(report.devices["go"].live_mib.values()) == 4
    page = render_page(report)
    assert "Live device memory of go" in page and "Request memory-plain" in page
    # Beside the table, not hidden in a part that is closed while all is well.
    assert page.index("Live device memory of go") < page.index('id="implementations"')


def test_the_balance_at_the_end_counts_more_than_that_of_one_run(tmp_path: Path) -> None:
    with ResultsWriter(tmp_path, Header(implementations={"go": {}})) as writer:
        writer.write(Line("go", "none", "memory", Outcome.PASS, figures={"handles_left": 0}))
        writer.write(Line("go", "none", "ownership", Outcome.FAIL, figures={"handles_live_at_bye": 3}))
        writer.finish()
    assert dict(runtime_rows(read_report(tmp_path), "go"))["handle balance"] == "3"


def test_what_has_no_collector_is_not_merely_without_a_figure(tmp_path: Path) -> None:
    with ResultsWriter(tmp_path, Header(implementations={"c": {}, "go": {}})) as writer:
        writer.write(Line("c", "none", "memory", Outcome.PASS, figures={"leaked_handles": 324}))
        grown = {"managed_heap_growth_bytes_lost": 904}
        writer.write(Line("go", "none", "memory", Outcome.PASS, figures=grown))
        writer.finish()
    report = read_report(tmp_path)
    c, go = (dict(runtime_rows(report, name)) for name in ("c", "go"))
    assert c["collector score"] == c["own heap grew"] == "no collector"
    assert go["own heap grew"] == "904 bytes" and go["collector score"] == "not available"
    assert c["smallest limit"] == "not available"
