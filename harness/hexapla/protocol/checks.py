"""The names of the checks within levels, as figures, reasons and a manifest's `expected_failures` use them.

Separate because other tools and manifests read these names: they change only with the version of the
results. A level that has no entry here is one question, and its own name is all that can be said of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from hexapla.protocol.ledger import STATUSES

CHECKS: Mapping[str, tuple[str, ...]] = {
    "threads": (
        "migrating",
        "workers_2",
        "workers_4",
        "one_core",
        "each_core",
        "device_of_context",
        "error_text",
        "two_contexts",
    ),
    "memory": (
        "account",
        "growth",
        "pace",
        "peak_ratio_c",
        "collector_score",
        "limit_explicit",
        "at_the_limit",
        "spill",
        "closed_in_loop",
        "lost_in_loop",
        "caught_errors",
        "scope",
        "cycles",
        "limit_collector",
        "collector",
    ),
    "ownership": (
        "accessors",
        "copies",
        "drop_orders",
        "double_release",
        "use_after_release",
        "release_elsewhere",
        "close_race",
        "finaliser_race",
        "run_ends",
        "run_refused",
        "run_fails",
        "bye",
        "input_ends",
    ),
    "errors": (
        *(f"status_{status.removeprefix('HXP_').lower()}" for status in STATUSES),
        "callback_throws",
        "fail_allocation",
        "write_fails",
        "killed",
        "paused",
        "killed_foreign",
        "texts",
    ),
}
"""Level → its checks. No two levels share a name, nor is one a level's."""
