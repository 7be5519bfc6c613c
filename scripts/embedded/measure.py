"""Trains the embedded default once on torch and PEFT and prints what the specs' clip_norm was chosen
from.

A yardstick for whoever makes the base model anew, not a trainer: it speaks no protocol and saves nothing.
Prints loss and gradient norm of every update, held-out cross-entropy, and at update 0 what a generic
rendering (no think block) and float64 change. Usage: measure.py tiny|micro [f64]
"""

import json
import math
import sys
import tempfile
from pathlib import Path

import torch
from hexapla.data.adapter import make_initial_adapter
from hexapla.data.order import epoch_order
from peft import PeftModel
from rendering import Rendered, Renderer
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

PACKAGE = Path(__file__).parents[2] / "harness" / "hexapla"
EMBEDDED = PACKAGE / "data" / "embedded"


def main() -> None:
    size = sys.argv[1]
    dtype = torch.float64 if "f64" in sys.argv else torch.float32
    spec = json.loads((PACKAGE / "spec" / f"{size}.json").read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    model = load(spec, dtype)
    train, heldout = accepted(size, "train", spec), accepted(size, "heldout", spec)
    print(f"{len(train)} train, {len(heldout)} held-out")
    print(f"update 0: held-out {evaluate(model, heldout):.6f}")
    print(f"update 0, no think block: {evaluate(model, accepted(size, 'heldout', spec, 'chatml')):.6f}")
    other = load(spec, torch.float64 if dtype == torch.float32 else torch.float32)
    print(
        f"update 0, other precision: relative {evaluate(other, heldout) / evaluate(model, heldout) - 1:.3e}"
    )
    norms = run(model, spec, train, heldout)
    ordered = sorted(norms)
    print(
        f"norms {ordered[0]:.4f} to {ordered[-1]:.4f}, median {ordered[len(ordered) // 2]:.4f};"
        f" clipped {sum(norm > spec['clip_norm'] for norm in norms)} of {len(norms)}"
    )
    biggest = max(parameter.abs().max().item() for parameter in model.parameters())
    print(f"largest weight {biggest:.3f}")


def load(spec: dict, dtype: torch.dtype) -> PeftModel:
    """The base model with the initial adapter."""
    base = AutoModelForCausalLM.from_pretrained(
        EMBEDDED / "model", dtype=torch.float32, attn_implementation="eager"
    )
    with tempfile.TemporaryDirectory() as folder:
        make_initial_adapter(EMBEDDED / "model", spec, Path(folder))
        return PeftModel.from_pretrained(base, folder, is_trainable=True).to(dtype)


def accepted(size: str, part: str, spec: dict, template: str | None = None) -> list[Rendered]:
    """The accepted records of one file, rendered."""
    renderer = Renderer(EMBEDDED / "tokenizer" / "tokenizer.json")
    text = (EMBEDDED / "records" / size / f"{part}.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line]
    rendered = [renderer.render(row, spec["length"], template or spec["template"]) for row in rows]
    return [row for row in rendered if isinstance(row, Rendered)]


def run(model: PeftModel, spec: dict, train: list[Rendered], heldout: list[Rendered]) -> list[float]:
    """SPEC.md's updates; the gradient norm of each, before the clip."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    first = [torch.zeros_like(p) for p in parameters]
    second = [torch.zeros_like(p) for p in parameters]
    norms = []
    for k, rows in enumerate(updates(spec, len(train)), start=1):
        labels = sum(sum(train[i].flags) for i in rows)
        loss = 0.0
        for p in parameters:
            p.grad = None
        for i in rows:
            nll = total_nll(model, train[i]) / labels
            nll.backward()
            loss += nll.item()
        norm = math.sqrt(sum(p.grad.double().square().sum().item() for p in parameters))
        norms.append(norm)
        if norm > spec["clip_norm"]:
            for p in parameters:
                p.grad.mul_(spec["clip_norm"] / norm)
        rate = spec["learning_rate"] * schedule(spec, k)
        with torch.no_grad():
            for p, m, v in zip(parameters, first, second, strict=True):
                p.mul_(1 - rate * spec["weight_decay"])
                m.mul_(spec["beta1"]).add_(p.grad, alpha=1 - spec["beta1"])
                v.mul_(spec["beta2"]).addcmul_(p.grad, p.grad, value=1 - spec["beta2"])
                corrected = (v / (1 - spec["beta2"] ** k)).sqrt() + spec["epsilon"]
                p.sub_(rate * (m / (1 - spec["beta1"] ** k)) / corrected)
        note = f", held-out {evaluate(model, heldout):.6f}" if k % spec["evaluate_every"] == 0 else ""
        print(f"update {k}: {len(rows)} records, loss {loss:.4f}, norm {norm:.4f}{note}", flush=True)
    return norms


def updates(spec: dict, count: int) -> list[list[int]]:
    """The record numbers of every update."""
    out: list[list[int]] = []
    epoch = 0
    while len(out) < spec["updates"]:
        order = epoch_order(spec["seed"], epoch, count)
        out += [order[i : i + spec["batch"]] for i in range(0, count, spec["batch"])]
        epoch += 1
    return out[: spec["updates"]]


def schedule(spec: dict, k: int) -> float:
    """SPEC.md's f(k), cosine."""
    warm, last, floor = spec["warmup_updates"], spec["updates"], spec["decay_floor"]
    return (
        k / warm
        if k <= warm
        else floor + (1 - floor) * (1 + math.cos(math.pi * (k - warm) / (last - warm))) / 2
    )


def total_nll(model: PeftModel, row: Rendered) -> torch.Tensor:
    """Summed NLL of a record's labels."""
    ids = torch.tensor([row.ids])
    targets = torch.where(torch.tensor([row.flags]), ids, -100)
    return cross_entropy(
        model(input_ids=ids).logits[0, :-1], targets[0, 1:], ignore_index=-100, reduction="sum"
    )


def evaluate(model: PeftModel, rows: list[Rendered]) -> float:
    """Cross-entropy over all labels."""
    with torch.no_grad():
        return sum(total_nll(model, row).item() for row in rows) / sum(sum(row.flags) for row in rows)


if __name__ == "__main__":
    main()
