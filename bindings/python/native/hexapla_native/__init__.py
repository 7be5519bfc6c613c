"""Hexapla's core for Python over its C++ objects: contexts, tensors, tapes, operations, tokenizers and
checkpoints.

The classes come compiled from `_hexapla_native`; this package is what programs import. It adds what is
better said in Python: the pressure hook that collects, and Scope. Each object is one owner: `close` or a
`with` block gives its share back at a known place, dropping the last reference does it too, and a reference
cycle waits for Python's collector, which cannot see device memory: `collect` is for that.

Errors are `Error` and its kind `OutOfMemoryError`. Calls let go of the interpreter's lock.
"""

from __future__ import annotations

from _hexapla_native import (
    BF16,
    F16,
    F32,
    Checkpoint,
    Context,
    Gate,
    Memory,
    Tape,
    Tensor,
    Tokenizer,
    adamw_step,
    add,
    as_strided,
    attention,
    build_faults,
    build_info,
    commit_folder,
    digest,
    embedding,
    fnv1a64,
    gradient_clip,
    gradient_norm,
    linear,
    linear_cross_entropy,
    lora_linear,
    matmul,
    process_memory,
    reduce_sum,
    reshape,
    rms_norm,
    rope,
    scale,
    softmax,
    swiglu,
    tensor,
    transpose,
    write_checkpoint,
    zeros,
)

from hexapla_native.errors import Error, OutOfMemoryError
from hexapla_native.owners import Owner, Scope, collect

__all__ = [
    "BF16",
    "F16",
    "F32",
    "Checkpoint",
    "Context",
    "Error",
    "Gate",
    "Memory",
    "OutOfMemoryError",
    "Owner",
    "Scope",
    "Tape",
    "Tensor",
    "Tokenizer",
    "adamw_step",
    "add",
    "as_strided",
    "attention",
    "build_faults",
    "build_info",
    "collect",
    "commit_folder",
    "digest",
    "embedding",
    "fnv1a64",
    "gradient_clip",
    "gradient_norm",
    "linear",
    "linear_cross_entropy",
    "lora_linear",
    "matmul",
    "process_memory",
    "reduce_sum",
    "reshape",
    "rms_norm",
    "rope",
    "scale",
    "softmax",
    "swiglu",
    "tensor",
    "transpose",
    "write_checkpoint",
    "zeros",
]
