"""The harness's readers on whatever Hypothesis thinks of: each refuses by its own error or accepts.

The session `fuzz` runs them for longer (profile `fuzz`).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hexapla.protocol import LineError, SchemaError, parse_event, parse_object, validate_event, write_line
from hexapla.protocol.results import RESULTS_FILE, Header, ResultsError, read_results
from hexapla.report.write import write_reports
from hexapla.spec import SpecError, check_spec, load_spec
from hexapla.toolchains import ManifestError, load_manifest
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("id", "event", "step", "loss", "results", "counts", "level", "outcome", "implementation", "figures")
OBJECT = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), JSON, max_size=8)
BYTES = st.binary(max_size=200) | st.builds(lambda value: json.dumps(value).encode(), JSON)
EVENTS = ("hello", "done", "step", "evaluation", "record", "error", "bye", "tensor", "probe")


@given(BYTES)
def test_lines(raw: bytes) -> None:
    """Refused, or an object that a strict writer writes and that reads back as itself."""
    try:
        value = parse_object(raw)
    except LineError as error:
        assert "\n" not in str(error)
        return
    assert parse_object(write_line(value)) == value


@given(st.sampled_from(EVENTS), OBJECT, st.sampled_from(["render", "train", "hello", "load"]))
def test_events(name: str, keys: dict[str, Any], request: str) -> None:
    """What passes the schema can be made an event."""
    message = {**keys, "id": "x", "event": name}
    try:
        validate_event(message, request)
    except SchemaError as error:
        assert "\n" not in str(error)
        return
    parse_event(message)


@given(st.dictionaries(st.sampled_from([*load_spec("tiny").values, "mood"]), JSON, max_size=4))
def test_specs(changed: dict[str, Any]) -> None:
    """A shipped specification with some values replaced: refused by name, or still a specification."""
    try:
        check_spec({**load_spec("tiny").values, **changed})
    except SpecError as error:
        assert "\n" not in str(error) and any(key in str(error) for key in changed)


TOML = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MANIFEST_KEYS = ("protocol", "name", "language", "stack", "build", "run", "needs", "silence_s", "environment")
PARTS = st.sampled_from(
    ["{python}", "{source}", "{build}", "{", "}", "/", "..", "-o", "=", "@", "~", "a", "\\", ","]
)
WORD = st.lists(PARTS, max_size=5).map("".join)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


@given(st.dictionaries(st.sampled_from(MANIFEST_KEYS), TOML | st.lists(WORD, min_size=1), max_size=4))
def test_manifests(changed: dict[str, Any]) -> None:
    """Refused by one line that names the file; what is accepted names no place outside its folder."""
    good = {"protocol": 1, "name": "x", "language": "X", "stack": "other", "run": ["{python}"]}
    text = "\n".join(f"{key} = {toml(value)}" for key, value in {**good, **changed}.items())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "binding.toml").write_text(text, "utf-8", newline="")
        try:
            manifest = load_manifest(Path(folder))
        except ManifestError as error:
            assert "\n" not in str(error) and "binding.toml" in str(error)
            return
    for word in [*manifest.run, *(part for command in manifest.build for part in command)]:
        assert not word.startswith(("/", "~/", "@/")) and "../" not in word


@given(st.lists(BYTES | OBJECT.map(lambda value: json.dumps(value).encode()), max_size=6))
def test_results(lines: list[bytes]) -> None:
    """Read as far as it goes: never finished without header and footer, never an error but its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / RESULTS_FILE).write_bytes(b"\n".join(lines))
        try:
            results = read_results(path)
        except ResultsError as error:
            assert "\n" not in str(error)
            return
        assert results.exit_status == 3 or results.finished
        write_reports(path)


def test_header_type() -> None:
    """The control: a header as written is read."""
    assert Header(**json.loads(json.dumps(Header().__dict__))) == Header()
