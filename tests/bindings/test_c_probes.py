"""The C trainer's probes where the machine hinders them: an error that says so, never a status of core's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hexapla.commands.participants import launch_of
from hexapla.levels.session import ContextChoice, RequestFailed, Session
from hexapla.toolchains import Places, ToolchainMissing, build_binding, build_core, load_manifest

PLACES = Places.find()


def test_a_file_that_cannot_be_made_is_no_status(tmp_path: Path) -> None:
    """HXP_FORMAT needs a broken file in a fresh folder; without a place for it nothing was provoked."""
    manifest = load_manifest(PLACES.root / "bindings" / "c")
    try:
        built = build_binding(manifest, PLACES, build_core(PLACES))
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    launch = launch_of(built, tmp_path)
    environment = {**launch.environment, "TMPDIR": str(tmp_path / "absent")}
    session = Session(
        replace(launch, environment=environment), ContextChoice("cpu:0", 1), lambda _name, _event: None
    )
    keys = {"scenario": "status", "parameters": {"status": "HXP_FORMAT"}}
    with pytest.raises(RequestFailed) as failed:
        session.ask("probe", "p", context=None, **keys)
    assert failed.value.error.status == "io"
    assert str(tmp_path / "absent") in failed.value.error.where
    session.running.kill()
