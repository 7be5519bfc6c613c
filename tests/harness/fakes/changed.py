"""The oracle with one thing changed, named by the first word: a proxy between harness and oracle."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CHANGE = sys.argv[1]
Message = dict[str, Any]


def change_request(request: Message) -> None:
    """What the oracle is handed differs in one value."""
    spec = request.get("spec", {})
    if CHANGE == "lora_scale" and spec:
        spec["alpha"] *= 2
        if request["adapter"]:
            request["adapter"] = altered(request["adapter"], "adapter_config.json", lora_alpha=spec["alpha"])
    if CHANGE == "order_seed" and spec:
        spec["seed"] += 1
    if CHANGE == "epsilon" and "model" in request:
        request["model"] = altered(request["model"], "config.json", rms_norm_eps=1e-5)
    if CHANGE == "op_epsilon":
        for case in request.get("cases", []):
            if "epsilon" in case["attributes"] and case["op"] == "rms_norm":
                case["attributes"]["epsilon"] = 1e-5


def change_event(event: Message, first: dict[str, Message]) -> None:
    """What the oracle says differs in one way."""
    if CHANGE == "label_mask" and event.get("labels") and event["event"] == "record":
        event["labels"] = event["labels"][::-1].replace("1", "0", 1)[::-1]
    if CHANGE == "newline" and event.get("ids"):
        event["ids"], event["labels"] = event["ids"][:-1], event["labels"][:-1]
    if CHANGE == "digest" and event["event"] == "tensor" and event["name"].endswith("k_proj.weight"):
        event["digest"] = "0" * 64
    if CHANGE == "nan" and event["event"] == "step" and event["step"] == 3:
        event.update(loss="NaN", loss_bits="0x7ff8000000000000")
    if CHANGE == "flat_evaluation" and event["event"] == "evaluation":
        event.update(
            {**first.setdefault("evaluation", dict(event)), "id": event["id"], "step": event["step"]}
        )


def altered(folder: str, file: str, **values: float) -> str:
    """A copy of a model's or adapter's folder whose JSON file holds other values."""
    copy = Path(tempfile.mkdtemp(prefix="hexapla-changed-"))
    for path in Path(folder).iterdir():
        if path.name != file:
            (copy / path.name).symlink_to(path)
    config = json.loads((Path(folder) / file).read_text("utf-8"))
    (copy / file).write_text(json.dumps({**config, **values}), "utf-8")
    return str(copy)


oracle = subprocess.Popen(
    [sys.executable, "-m", "hexapla.reference.oracle"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
assert oracle.stdin is not None and oracle.stdout is not None
for line in sys.stdin:
    message = json.loads(line)
    change_request(message)
    print(json.dumps(message), file=oracle.stdin, flush=True)
    seen: dict[str, Message] = {}
    for answer in oracle.stdout:
        said = json.loads(answer)
        change_event(said, seen)
        print(json.dumps(said), flush=True)
        if said["event"] in ("done", "skipped", "error", "bye"):
            break
    if message["request"] == "bye":
        break
sys.exit(oracle.wait())
