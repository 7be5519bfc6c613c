"""Pretrains the embedded base model: Qwen3 in small, one million parameters, BF16, tied head.

Deterministic on one machine: one thread, fixed seeds. Another CPU or torch may round otherwise, so the
file it made is kept in the tree and `--check OUT_FOLDER` only compares; it is not part of the continuous
tests. README.md says where it was made. Usage: make_model.py [--check] OUT_FOLDER
"""

import json
import math
import sys
import tempfile
import time
from pathlib import Path

import torch
from corpus import pretraining
from rendering import Renderer
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy
from transformers import Qwen3Config, Qwen3ForCausalLM

VOCABULARY = 768
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 742,
    "eos_token_id": 744,
    "head_dim": 32,
    "hidden_act": "silu",
    "hidden_size": 128,
    "initializer_range": 0.02,
    "intermediate_size": 384,
    "max_position_embeddings": 1024,
    "max_window_layers": 5,
    "model_type": "qwen3",
    "num_attention_heads": 4,
    "num_hidden_layers": 5,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.51.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": VOCABULARY,
}
UPDATES, BATCH, LENGTH, LEARNING_RATE, WEIGHT_DECAY = 300, 16, 256, 2e-3, 0.1
BUCKET = 8  # batches whose records are sorted by length together, to waste less on padding


def main() -> None:
    folder = Path(sys.argv[-1])
    if "--check" in sys.argv:
        with tempfile.TemporaryDirectory() as made:
            write(folder, Path(made))
            for name in ("config.json", "model.safetensors"):
                if (folder / "model" / name).read_bytes() != (Path(made) / name).read_bytes():
                    raise SystemExit(
                        f"{name} differs from a fresh one: another CPU, torch, corpus or tokenizer?"
                    )
        print("model equals a fresh one")
    else:
        write(folder, folder / "model")


def write(folder: Path, out: Path) -> None:
    """Pretrains with the tokenizer in `folder` and writes config.json and model.safetensors to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n", encoding="utf-8", newline="\n")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(1)
    model = Qwen3ForCausalLM(Qwen3Config.from_pretrained(out, attn_implementation="eager")).float()
    pretrain(model, Renderer(folder / "tokenizer" / "tokenizer.json"))
    tensors = {
        name: value.to(torch.bfloat16).contiguous()
        for name, value in model.state_dict().items()
        if name != "lm_head.weight"
    }
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})


def pretrain(model: Qwen3ForCausalLM, renderer: Renderer) -> None:
    """AdamW on every id of the rendered records, think block included; prints the loss as it goes."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    gains = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": gains, "weight_decay": 0.0}],
        lr=LEARNING_RATE,
        betas=(0.9, 0.95),
    )
    start = time.monotonic()
    for update, rows in enumerate(batches(renderer), start=1):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * schedule(update)
        ids, targets = pad(rows)
        logits = model(input_ids=ids, attention_mask=(targets != -100).long()).logits
        loss = cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % 50 == 0:
            print(f"update {update}: loss {loss.item():.4f}, {time.monotonic() - start:.0f} s", flush=True)


def batches(renderer: Renderer) -> list[list[list[int]]]:
    """UPDATES batches of BATCH rendered records, of similar length inside a batch."""
    rows = []
    for record in pretraining(UPDATES * BATCH):
        rendered = renderer.render(record, LENGTH)
        if isinstance(rendered, str):
            raise SystemExit(f"{record['id']} is rejected: {rendered}")
        rows.append(rendered.ids)
    order = torch.Generator().manual_seed(2)
    out: list[list[list[int]]] = []
    for i in range(0, len(rows), BATCH * BUCKET):
        bucket = sorted(rows[i : i + BATCH * BUCKET], key=len)
        parts = [bucket[j : j + BATCH] for j in range(0, len(bucket), BATCH)]
        out += [parts[k] for k in torch.randperm(len(parts), generator=order).tolist()]
    return out


def pad(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and targets, (rows, longest); pads on the right are id 0 and target -100."""
    longest = max(len(row) for row in rows)
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    targets = torch.tensor([row + [-100] * (longest - len(row)) for row in rows])
    return ids, targets


def schedule(update: int) -> float:
    """Warm-up over 30 updates, then cosine to a tenth."""
    if update < 30:
        return update / 30
    return 0.1 + 0.9 * (1 + math.cos(math.pi * (update - 30) / (UPDATES - 30))) / 2


if __name__ == "__main__":
    main()
