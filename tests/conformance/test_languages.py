"""Every language over one core: equal bits in a whole run, and checkpoints that cross in all pairs.

The level `checkpoint` lets each implementation resume its neighbour's; here are all pairs, and PEFT itself
loads
what each one saved.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from crew import Crew, Place
from safetensors.numpy import load_file

LANGUAGES = ("c", "go", "java", "python", "rust", "zig", "native")
SAVED = 8

every_language = pytest.mark.parametrize("name", LANGUAGES)


@every_language
def test_whole_runs_are_equal_in_every_bit(crew: Crew, micro: Place, name: str) -> None:
    """Losses, norms, rates, batches, evaluations by record, adapter and optimizer digests, and the peak."""
    run, judge = crew.train(name, micro), crew.train("c", micro)
    assert run.bits() == judge.bits() and len(run.bits()) == 18
    assert run.done == judge.done and run.done["handles_live"] == 0


@every_language
@pytest.mark.parametrize("other", LANGUAGES)
def test_checkpoints_cross(crew: Crew, micro: Place, name: str, other: str) -> None:
    """Whoever saved it, whoever resumes it: the run goes on as if nothing had happened."""
    saved = crew.train(other, micro).checkpoints[SAVED].path
    resumed = crew.train(name, micro, resume_from=saved)
    assert resumed.bits() == crew.train("c", micro).bits(after=SAVED)


@every_language
def test_peft_loads_every_adapter(crew: Crew, micro: Place, name: str) -> None:
    """Through PeftModel.from_pretrained, nothing missing or left over, every value as it was saved; and the
    torch trainer computes the held-out loss with it that the adapter's maker computed."""
    peft = pytest.importorskip("peft")
    transformers = pytest.importorskip("transformers")
    run = crew.train(name, micro)
    last = max(run.checkpoints)
    folder = Path(run.checkpoints[last].path)
    base = transformers.AutoModelForCausalLM.from_pretrained(micro.model, dtype="float32")
    model = peft.PeftModel.from_pretrained(base, folder)
    loaded = peft.get_peft_model_state_dict(model)
    stored = load_file(folder / "adapter_model.safetensors")
    assert loaded.keys() == stored.keys()
    assert all((loaded[key].numpy() == values).all() for key, values in stored.items())
    there = crew.evaluate("torch", micro, folder)
    assert there.loss == pytest.approx(run.evaluations[last].loss, rel=2e-6)
