"""What the protocol cannot ask of the torch trainer: logits, and counts and rates at the study's size."""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path

import hexapla
import pytest
from torch_process import DATA

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("peft", reason="peft is not installed")

from hexapla.reference.torch.config import learning_rate, read_spec  # noqa: E402 - needs torch
from hexapla.reference.torch.model import load_model  # noqa: E402
from hexapla.reference.torch.order import batches, splitmix64  # noqa: E402


@pytest.mark.skipif(not DATA.exists(), reason="the data folder (HEXAPLA_DATA) is absent")
def test_a_real_checkpoint_gives_its_published_arg_maxes() -> None:
    """Teacher-forced; the data's README names the most likely id after each of the last eight prefixes."""
    model = load_model(str(DATA / "models" / "tiny_qwen3_mlxd"))
    ids = torch.tensor([[1, 2, 76, 112, 63, 76, 195, 184, 121, 189]])
    with torch.no_grad():
        likeliest = model(input_ids=ids).logits.argmax(-1)[0, 1:-1].tolist()
    assert likeliest == [76, 112, 63, 76, 112, 184, 121, 189]


def test_e2_an_epoch_of_the_study_is_10536_updates_the_last_of_14_records() -> None:
    epoch = list(itertools.takewhile(lambda batch: batch.epoch == 0, batches(1, 168_574, 16, after=0)))
    assert (len(epoch), len(epoch[-1].records)) == (10_536, 14)
    assert sorted(index for batch in epoch for index in batch.records) == list(range(168_574))
    resumed = next(batches(1, 168_574, 16, after=10_535))
    assert resumed == epoch[-1]


def test_check_values_of_the_specification() -> None:
    assert next(splitmix64(0)) == 0xE220A8397B1DCDAF
    file = Path(hexapla.__file__).parent / "spec" / "full.json"
    rate = learning_rate(read_spec(json.loads(file.read_text())), 5000)
    rounded = struct.unpack("<f", struct.pack("<f", rate))[0]
    assert struct.pack(">d", rounded).hex() == "3f1feba180000000"
