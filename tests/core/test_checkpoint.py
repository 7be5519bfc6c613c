"""Checkpoints on disk: what is read and written agrees with the `safetensors` library, bit for bit.

Case H3 (widening), shards and their index, the real files, writing whole or not at all. Malformed files (case
H2) are in test_hostile_files.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_support import Checkpoint, write, write_handles
from core_calls import Core, CoreError
from formats_support import data, header_bytes
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def bits(array: np.ndarray[Any, np.dtype[np.float32]]) -> list[str]:
    return [f"{word:08x}" for word in array.ravel().view(np.uint32)]


def one(dtype: str, raw: bytes, size: int) -> bytes:
    return header_bytes({"x": {"dtype": dtype, "shape": [size], "data_offsets": [0, len(raw)]}}, raw)


def test_case_h3_bf16(core: Core, context: int, tmp_path: Path) -> None:
    raw = bytes.fromhex("803F 4940 F7C2 AB3E 80FF C07F 0080 0100 817F")
    (tmp_path / "a.safetensors").write_bytes(one("BF16", raw, 9))
    with Checkpoint(core, tmp_path / "a.safetensors") as checkpoint:
        values = checkpoint.read(context, "x")
    assert list(values[:4]) == [1.0, 3.140625, -123.5, 0.333984375]
    assert values[7] == 9.183549615799121e-41
    expected = "3f800000 40490000 c2f70000 3eab0000 ff800000 7fc00000 80000000 00010000 7f810000"
    assert bits(values) == expected.split()


def test_every_f16_widens_exactly(core: Core, context: int, tmp_path: Path) -> None:
    """All 65,536, subnormals included; NaN by its bits, since NumPy's cast makes a signalling one quiet."""
    words = np.arange(0x10000, dtype=np.uint16)
    (tmp_path / "a.safetensors").write_bytes(one("F16", words.tobytes(), words.size))
    with Checkpoint(core, tmp_path / "a.safetensors") as checkpoint:
        values = checkpoint.read(context, "x")
    halves = words.view(np.float16)
    numbers = ~np.isnan(halves)
    expected = halves.astype(np.float32).view(np.uint32)
    nan = words[~numbers].astype(np.uint32)
    expected[~numbers] = (nan & 0x8000) << 16 | 0x7F800000 | (nan & 0x3FF) << 13
    assert np.array_equal(values.view(np.uint32), expected)


def test_f32_keeps_every_bit(core: Core, context: int, tmp_path: Path) -> None:
    words = np.random.default_rng(4).integers(0, 2**32, 300_001, dtype=np.uint64).astype(np.uint32)
    words[:4] = [1, 0x80000000, 0x7F800001, 0xFFC12345]
    (tmp_path / "a.safetensors").write_bytes(one("F32", words.tobytes(), words.size))
    with Checkpoint(core, tmp_path / "a.safetensors") as checkpoint:
        values = checkpoint.read(context, "x")
    assert np.array_equal(values.view(np.uint32), words)


def test_listing_and_order(core: Core, context: int, tmp_path: Path) -> None:
    """Names sorted by bytes; other dtypes are listed and not read; a scalar has shape (1)."""
    path = tmp_path / "a.safetensors"
    floats = {
        "é": np.ones((2, 3), np.float32),
        "b": np.array(7, np.float32),
        "Z": np.zeros((0, 4), np.float32),
    }
    others = {"i": np.ones(5, np.int64), "h": np.ones(3, np.float16)}
    save_file({**floats, **others}, path, metadata={"update": "12"})
    with Checkpoint(core, path) as checkpoint:
        assert checkpoint.entries() == [
            ("Z", "F32", (0, 4), 0),
            ("b", "F32", (), 4),
            ("h", "F16", (3,), 6),
            ("i", "I64", (5,), 40),
            ("é", "F32", (2, 3), 24),
        ]
        assert checkpoint.read(context, "b").tolist() == [7.0]
        assert checkpoint.read(context, "Z").shape == (0, 4)
        with pytest.raises(CoreError, match=r"HXP_UNSUPPORTED: .*tensor 'i' is stored as I64"):
            checkpoint.read(context, "i")
        with pytest.raises(CoreError, match="HXP_NOT_FOUND: no tensor 'c' among 5"):
            checkpoint.find("c")
        with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: index 5 of 5"):
            core.make("checkpoint_read", checkpoint.handle, 5, context)
        assert checkpoint.metadata("update") == "12"
        assert checkpoint.metadata("update", room=3) == "12"
        with pytest.raises(CoreError, match=r"HXP_INVALID_ARGUMENT: .*3"):
            checkpoint.metadata("update", room=2)
        with pytest.raises(CoreError, match="HXP_NOT_FOUND: no metadata 'nothing'"):
            checkpoint.metadata("nothing")


def shard(folder: Path, *, index: Callable[[dict[str, str]], dict[str, str]] = dict) -> dict[str, Any]:
    """Three tensors in two shards; the weight map as changed by `index`."""
    first = {"a": np.arange(3, dtype=np.float32), "c": np.ones(2, np.float32)}
    parts = [first, {"b": np.full(2, 5, np.float32)}]
    names = [FIRST, SECOND]
    for name, part in zip(names, parts, strict=True):
        save_file(part, folder / name, metadata={"file": name})
    weights = index({key: name for name, part in zip(names, parts, strict=True) for key in part})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weights}))
    return {**parts[0], **parts[1]}


def test_shards(core: Core, context: int, tmp_path: Path) -> None:
    arrays = shard(tmp_path)
    with Checkpoint(core, tmp_path) as checkpoint:
        assert [entry[0] for entry in checkpoint.entries()] == ["a", "b", "c"]
        for name, array in arrays.items():
            assert np.array_equal(checkpoint.read(context, name), array)
        assert checkpoint.metadata("file") == "model-00001-of-00002.safetensors"


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (lambda w: w | {"c": SECOND}, f"HXP_FORMAT: .*tensor 'c' lies in .*{FIRST}, the index says {SECOND}"),
        (lambda w: w | {"b": FIRST}, f"HXP_FORMAT: .*tensor 'b' is not in {FIRST}, where"),
        (lambda w: {k: w[k] for k in ("a", "b")}, "HXP_FORMAT: .*tensor 'c' lies in .*does not name it"),
        (lambda w: w | {"d": FIRST}, f"HXP_FORMAT: .*tensor 'd' is not in {FIRST}"),
        (lambda w: w | {"d": "absent.safetensors"}, r"HXP_IO: cannot open .*absent\.safetensors"),
        (
            lambda w: w | {"d": "../x.safetensors"},
            r"HXP_FORMAT: .*'d' is '\.\./x\.safetensors', not a file's",
        ),
        (lambda w: w | {"d": "/etc/passwd"}, "HXP_FORMAT: .*'/etc/passwd', not a file's name"),
        (lambda w: w | {"d": ".."}, "HXP_FORMAT: .*not a file's name"),
        (lambda w: w | {"d": 3}, "HXP_FORMAT: .*the shard of 'd' is a number"),
    ],
)
def test_index_and_shards_disagree(
    core: Core, tmp_path: Path, index: Callable[[dict[str, str]], dict[str, str]], message: str
) -> None:
    shard(tmp_path, index=index)
    with pytest.raises(CoreError, match=message):
        core.make("checkpoint_open", str(tmp_path).encode())


def test_name_in_two_shards(core: Core, tmp_path: Path) -> None:
    shard(tmp_path)
    save_file({"b": np.ones(1, np.float32), "a": np.ones(1, np.float32)}, tmp_path / SECOND)
    with pytest.raises(CoreError, match=f"HXP_FORMAT: .*tensor 'a' lies in both .*{FIRST} and .*{SECOND}"):
        core.make("checkpoint_open", str(tmp_path).encode())


def test_folder_without_a_model(core: Core, tmp_path: Path) -> None:
    with pytest.raises(CoreError, match=r"HXP_IO: .* holds neither model\.safetensors nor"):
        core.make("checkpoint_open", str(tmp_path).encode())
    with pytest.raises(CoreError, match=r"HXP_IO: cannot open .*: No such file"):
        core.make("checkpoint_open", str(tmp_path / "none").encode())
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(CoreError, match=r"HXP_IO: .* is not a regular file"):
        core.make("checkpoint_open", str(tmp_path).encode())


def test_pipe_does_not_block(core: Core, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CoreError, match=r"HXP_IO: .*pipe is not a regular file"):
        core.make("checkpoint_open", str(tmp_path / "pipe").encode())


def test_file_cut_after_open(core: Core, context: int, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"x": np.ones(100_000, np.float32)}, path)
    with Checkpoint(core, path) as checkpoint:
        os.truncate(path, 4096)
        with pytest.raises(CoreError, match=r"HXP_IO: .* ends at byte 4096 and had"):
            checkpoint.read(context, "x")


@pytest.mark.parametrize(
    "folder", ["models/tiny_qwen3_mlxd", "models/tiny_qwen3_sharded_mlxd", "models/tiny_qwen3_tied_mlxd"]
)
def test_real_models(core: Core, context: int, folder: str) -> None:
    path = data(folder)
    with Checkpoint(core, path) as checkpoint:
        entries = {name: (dtype, shape) for name, dtype, shape, _ in checkpoint.entries()}
        expected: dict[str, tuple[str, tuple[int, ...]]] = {}
        for file in path.glob("*.safetensors"):
            with safe_open(file, framework="np") as reader:
                for name in reader.keys():  # noqa: SIM118
                    piece = reader.get_slice(name)
                    expected[name] = (piece.get_dtype(), tuple(piece.get_shape()))
        assert entries == expected
        packed = [name for name, (dtype, _) in entries.items() if dtype == "U32"]
        for name in packed[:1]:
            with pytest.raises(CoreError, match=r"HXP_UNSUPPORTED: .*is stored as U32; F32, F16"):
                checkpoint.read(context, name)
        assert bool(packed) == (folder != "models/tiny_qwen3_mlxd")


def test_written_file(core: Core, context: int, tmp_path: Path) -> None:
    path = tmp_path / "out.safetensors"
    rng = np.random.default_rng(5)
    arrays = {
        "b.weight": rng.standard_normal((3, 5), dtype=np.float32),
        'a"\\\n\tü': rng.standard_normal(7, dtype=np.float32),
        "empty": np.zeros((0, 2), np.float32),
    }
    write(core, context, path, arrays, {"update": "20", "ключ": "значение\u0001"})
    loaded = load_file(path)
    assert set(loaded) == set(arrays) and all(np.array_equal(loaded[k], v) for k, v in arrays.items())
    with safe_open(path, framework="np") as reader:
        assert reader.metadata() == {"update": "20", "ключ": "значение\u0001"}
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    assert length % 8 == 0 and list(header) == ["__metadata__", *arrays]
    with Checkpoint(core, path) as checkpoint:
        assert all(np.array_equal(checkpoint.read(context, k), v) for k, v in arrays.items())
    write(core, context, path, {"x": np.ones(2, np.float32)})
    assert list(load_file(path)) == ["x"]
    assert [p.name for p in tmp_path.iterdir()] == ["out.safetensors"]


def test_written_view(core: Core, context: int, tmp_path: Path) -> None:
    source = core.tensor(context, np.arange(6).reshape(2, 3))
    view = core.make("transpose", 0, source)
    write_handles(core, tmp_path / "v.safetensors", ["t"], [view])
    core.release("tensor", view, source)
    assert load_file(tmp_path / "v.safetensors")["t"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_file_without_tensors(core: Core, tmp_path: Path) -> None:
    write_handles(core, tmp_path / "none.safetensors", [], [], {"a": "b"})
    with Checkpoint(core, tmp_path / "none.safetensors") as checkpoint:
        assert (checkpoint.entries(), checkpoint.metadata("a")) == ([], "b")


@pytest.mark.parametrize(
    ("names", "message"),
    [(["x", "x"], "the tensor name 'x' is given twice"), (["x", "__metadata__"], "cannot be named")],
)
def test_refused_names(core: Core, context: int, tmp_path: Path, names: list[str], message: str) -> None:
    tensor = core.tensor(context, [1.0])
    with pytest.raises(CoreError, match=f"HXP_INVALID_ARGUMENT: .*{message}"):
        write_handles(core, tmp_path / "a.safetensors", names, [tensor] * 2)
    core.release("tensor", tensor)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(core: Core, context: int, tmp_path: Path) -> None:
    array = {"x": np.ones(4, np.float32)}
    with pytest.raises(CoreError, match=r"HXP_IO: cannot create .*: No such file or directory"):
        write(core, context, tmp_path / "none" / "a.safetensors", array)
    with pytest.raises(CoreError, match="HXP_IO: /dev/full exists and is not a regular file"):
        write(core, context, Path("/dev/full"), array)
    (tmp_path / "folder").mkdir()
    with pytest.raises(CoreError, match=r"HXP_IO: .*folder exists and is not a regular file"):
        write(core, context, tmp_path / "folder", array)
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from checkpoint_support import write
from core_calls import Core, CoreError
core, path = Core(), Path(sys.argv[1])
if sys.argv[2] == "ignored":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
else:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
context = core.context()
write(core, context, path, {"x": np.ones(8, np.float32)})
before = path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    write(core, context, path, {"x": np.ones(100_000, np.float32)})
except CoreError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
    assert path.read_bytes() == before and [p.name for p in path.parent.iterdir()] == [path.name]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set() and not signal.sigpending()
    print(error)
"""


@pytest.mark.parametrize("handling", ["default", "ignored"])
def test_full_disk(core: Core, tmp_path: Path, handling: str) -> None:
    """Past RLIMIT_FSIZE the write answers HXP_IO, whatever is done with SIGXFSZ, and the old file stays."""
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path / "a.safetensors"), handling]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "HXP_IO: cannot write" in done.stdout and "File too large" in done.stdout


def commit(core: Core, partial: Path, final: Path | str) -> None:
    core.call("checkpoint_commit", str(partial).encode(), str(final).encode())


def test_commit(core: Core, tmp_path: Path) -> None:
    partial = tmp_path / "checkpoint-000020.partial"
    (partial / "inner").mkdir(parents=True)
    (partial / "a").write_text("1")
    (partial / "inner" / "b").write_text("2")
    commit(core, partial, f"{tmp_path}/checkpoint-000020/")
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint-000020"]
    assert (tmp_path / "checkpoint-000020" / "inner" / "b").read_text() == "2"


def test_commit_refused(core: Core, tmp_path: Path) -> None:
    partial = tmp_path / "x.partial"
    with pytest.raises(CoreError, match=r"HXP_IO: .*x.partial is not a folder"):
        commit(core, partial, tmp_path / "x")
    partial.mkdir()
    (tmp_path / "x").mkdir()
    with pytest.raises(CoreError, match=r"HXP_IO: cannot rename .*: File exists"):
        commit(core, partial, tmp_path / "x")
    with pytest.raises(CoreError, match=r"HXP_IO: .* are not in one folder"):
        commit(core, partial, tmp_path / "x" / "y")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "x.partial"]


def test_shares(core: Core, tmp_path: Path) -> None:
    before = core.memory().live_handles
    save_file({"x": np.ones(2, np.float32)}, tmp_path / "a.safetensors")
    first = core.make("checkpoint_open", str(tmp_path / "a.safetensors").encode())
    second = core.make("checkpoint_retain", first)
    core.release("checkpoint", first)
    count = core.ffi.new("uint64_t *")
    core.call("checkpoint_count", second, count)
    assert count[0] == 1
    with pytest.raises(CoreError, match="HXP_STALE_HANDLE"):
        core.release("checkpoint", first)
    core.release("checkpoint", second, 0)
    assert core.memory().live_handles == before
