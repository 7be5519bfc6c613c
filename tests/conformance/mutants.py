"""Copies of real trainers with one value changed, as bindings of their own.

Apart from the test so that the list reads as a table. A patch names the text that it replaces; it must stand
there exactly once, or making the mutant fails: a fault that was not applied proves nothing.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from hexapla.toolchains.manifest import FILE_NAME

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "c": ROOT / "bindings/c",
    "python": ROOT / "bindings/python",
    "go": ROOT / "bindings/go",
    "rust": ROOT / "bindings/rust",
    "zig": ROOT / "bindings/zig",
    "java": ROOT / "bindings/java",
    "torch": ROOT / "harness/hexapla/reference/torch",
    "oracle": ROOT / "harness/hexapla/reference/oracle",
}
_NOT_COPIED = shutil.ignore_patterns(
    "tests", "examples", "__pycache__", ".*_cache", "build", "target", "native"
)


@dataclass(frozen=True)
class Mutant:
    """`old` → `new` in `file` of `base`'s folder; the level that must fail, and a pattern of its words."""

    fault: str
    base: str
    file: str
    old: str
    new: str
    level: str
    words: str

    @property
    def name(self) -> str:
        """The binding's name."""
        return f"{self.base}-{self.fault}"


def make_mutant(mutant: Mutant, folder: Path) -> Path:
    """Copy the trainer to `folder`, change the one value, and return the binding's folder."""
    binding = folder / mutant.name
    reference = mutant.base in ("torch", "oracle")
    # A reference is a module of this package, found by its name: the copy stands first on its path.
    source = binding / "hexapla/reference" / mutant.base if reference else binding
    shutil.copytree(SOURCES[mutant.base], source, ignore=_NOT_COPIED)
    replace_once(source / mutant.file, mutant.old, mutant.new)
    replace_once(source / FILE_NAME, f'name = "{mutant.base}"', f'name = "{mutant.name}"')
    if reference:
        for package in (binding / "hexapla", binding / "hexapla/reference"):
            (package / "__init__.py").touch()
        manifest = (source / FILE_NAME).read_text("utf-8")
        (source / FILE_NAME).unlink()
        assert "[environment]" not in manifest
        manifest += '\n[environment]\nPYTHONPATH = "{source}"\n'
        (binding / FILE_NAME).write_text(manifest, "utf-8")
    return binding


def replace_once(file: Path, old: str, new: str) -> None:
    """Replace a text that must stand in the file exactly once."""
    text = file.read_text("utf-8")
    count = text.count(old)
    assert count == 1 and old != new, f"{file}: {old!r} stands there {count} times"
    file.write_text(text.replace(old, new), "utf-8")


RECORD = r"record \S+"
UPDATE = r"update \d+"

C_MUTANTS = [
    Mutant(
        "operator-eps",
        "c",
        "trainer/operators.c",
        "hxp_rms_norm(o->tape, INPUT(0), INPUT(1), epsilon, out, &e)",
        "hxp_rms_norm(o->tape, INPUT(0), INPUT(1), 10 * epsilon, out, &e)",
        "operators",
        r"case G5\.norm \(rms_norm\): output\[0, 0\] is 0\.2390\d+, not 0\.3429972",
    ),
    Mutant(
        "eps",
        "c",
        "trainer/forward.c",
        "p->m->shape.epsilon",
        "1e-5",
        "untrained",
        r"record micro-heldout-\S+ of the held-out file: NLL .*, not .*at most by .*bound 2e-06",
    ),
    Mutant(
        "newline",
        "c",
        "trainer/render.c",
        'turn(r, l, "user\\n", one->question',
        'turn(r, l, "user", one->question',
        "rendering",
        rf"{RECORD}: ids part at position \d+ of .*; \d+ of \d+ records differ",
    ),
    Mutant(
        "label-mask",
        "c",
        "trainer/render.c",
        "mark(l, r->end, true, memory);",
        "mark(l, r->end, false, memory);",
        "rendering",
        rf"{RECORD}: label flag 0, not 1, at position \d+ .*; \d+ of \d+ records differ",
    ),
    Mutant(
        "lora-scale",
        "c",
        "trainer/adapter.c",
        "spec->alpha / (double)spec->rank}",
        "spec->alpha}",
        "trajectory",
        rf"{UPDATE}: gradient norm .*relative",
    ),
    Mutant(
        "order-seed",
        "c",
        "trainer/update.c",
        "order_epoch(plan->seed,",
        "order_epoch(plan->seed + 1,",
        "trajectory",
        rf"{UPDATE}: batch digest",
    ),
    Mutant(
        "micro-batch-mean",
        "c",
        "trainer/update.c",
        "(double)(float)(1.0 / (double)labels)",
        "(double)(float)(0.5 / (double)b.labels + 0 * (double)labels)",
        "trajectory",
        rf"{UPDATE}: gradient norm .*relative",
    ),
    Mutant(
        "flat-evaluation",
        "c",
        "trainer/train.c",
        "evaluate(&run->r.m, &run->r.st.a,",
        "evaluate(&run->r.m, NULL,",
        "trajectory",
        rf"{UPDATE}: held-out CE .*never moves",
    ),
]

OTHER_MUTANTS = [
    Mutant(
        "eps",
        "python",
        "hexapla_core/trainer/model.py",
        'epsilon=config.real("rms_norm_eps", values.get("rms_norm_eps")),',
        "epsilon=1e-5,",
        "untrained",
        r"record micro-heldout-\S+ of the held-out file: NLL .*, not .*bound 2e-06",
    ),
    Mutant(
        "label-mask",
        "python",
        "hexapla_core/trainer/render.py",
        'flags += b"\\1" * (len(ids) - len(flags))',
        'flags += b"\\1" * (len(ids) - len(flags) - 1) + b"\\0"',
        "rendering",
        rf"{RECORD}: label flag 0, not 1, at position \d+",
    ),
    Mutant(
        "flat-evaluation",
        "python",
        "hexapla_core/trainer/evaluate.py",
        "forward(model, adapter, batch, None,",
        "forward(model, None, batch, None,",
        "trajectory",
        rf"{UPDATE}: held-out CE .*never moves",
    ),
    Mutant(
        "order-seed",
        "python",
        "hexapla_core/trainer/order.py",
        "SplitMix64((seed << 32) + epoch)",
        "SplitMix64((seed << 32) + 1)",
        "trajectory",
        rf"{UPDATE}: batch digest",
    ),
    Mutant(
        "operator-eps",
        "torch",
        "operators.py",
        'eps=attributes["epsilon"])',
        "eps=1e-5)",
        "operators",
        r"case G5\.norm \(rms_norm\): output\[0, 0\] is 0\.2390\d+, not 0\.3429972",
    ),
    Mutant(
        "lora-scale",
        "torch",
        "adapter.py",
        "use_rslora=False",
        "use_rslora=True",
        "trajectory",
        rf"{UPDATE}: gradient norm .*relative",
    ),
    Mutant(
        "newline",
        "oracle",
        "render.py",
        'flags = bytes(len(ids) + len(prefix)) + b"\\x01" * labels + bytes(len(newline))',
        'flags, newline = bytes(len(ids) + len(prefix)) + b"\\x01" * labels, []',
        "rendering",
        rf"{RECORD}: ids part at position \d+ of .*; \d+ of \d+ records differ",
    ),
    Mutant(
        "micro-batch-mean",
        "oracle",
        "train.py",
        "run.model.backward(batch, adapter, scale, tape, weight)",
        "run.model.backward(batch, adapter, scale, tape, 0.5 / len(batch.targets))",
        "trajectory",
        rf"{UPDATE}: gradient norm .*relative",
    ),
]

# One changed line in each further language.
LANGUAGE_MUTANTS = [
    Mutant(
        "one-epoch",
        "go",
        "cmd/trainer/order.go",
        "splitMix(uint64(seed)<<32 + uint64(epoch))",
        "splitMix(uint64(seed)<<32 + 0*uint64(epoch))",
        "trajectory",
        r"update 6: batch digest",
    ),
    Mutant(
        "lora-scale",
        "rust",
        "trainer/src/adapter.rs",
        "scale: spec.alpha / spec.rank as f64",
        "scale: spec.alpha",
        "trajectory",
        rf"{UPDATE}: gradient norm .*relative",
    ),
    Mutant(
        "order-seed",
        "zig",
        "src/trainer/order.zig",
        "(seed << 32) +% epoch",
        "(seed << 33) +% epoch",
        "trajectory",
        r"update 1: batch digest",
    ),
    Mutant(
        "newline",
        "java",
        "src/hexapla/trainer/Render.java",
        'tokenizer.encode("user\\n" + record.question())',
        'tokenizer.encode("user" + record.question())',
        "rendering",
        rf"{RECORD}: ids part at position \d+ of .*; \d+ of \d+ records differ",
    ),
]
