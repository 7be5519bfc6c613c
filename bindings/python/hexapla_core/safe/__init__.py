"""Layer safe: handles with owners, errors, operations: everything that users and the trainer see."""

from hexapla_core.safe import ops, optimizer
from hexapla_core.safe.checkpoint import Checkpoint, CheckpointEntry, commit_checkpoint, write_checkpoint
from hexapla_core.safe.context import Context, Memory, PressureHook, collect_garbage, process_memory
from hexapla_core.safe.errors import (
    Busy,
    DeviceError,
    FileError,
    FormatError,
    HexaplaError,
    InternalError,
    InvalidArgument,
    NoGradient,
    NotFound,
    OutOfMemory,
    StaleHandle,
    UnknownStatus,
    Unsupported,
    WrongKind,
    WrongThread,
)
from hexapla_core.safe.gate import Gate
from hexapla_core.safe.handle import Handle
from hexapla_core.safe.library import abi_version, build_faults, build_info
from hexapla_core.safe.tape import Tape
from hexapla_core.safe.tensor import BF16, F16, F32, Tensor, TensorInfo, digest
from hexapla_core.safe.tokenizer import AddedToken, Tokenizer

__all__ = [
    "BF16",
    "F16",
    "F32",
    "AddedToken",
    "Busy",
    "Checkpoint",
    "CheckpointEntry",
    "Context",
    "DeviceError",
    "FileError",
    "FormatError",
    "Gate",
    "Handle",
    "HexaplaError",
    "InternalError",
    "InvalidArgument",
    "Memory",
    "NoGradient",
    "NotFound",
    "OutOfMemory",
    "PressureHook",
    "StaleHandle",
    "Tape",
    "Tensor",
    "TensorInfo",
    "Tokenizer",
    "UnknownStatus",
    "Unsupported",
    "WrongKind",
    "WrongThread",
    "abi_version",
    "build_faults",
    "build_info",
    "collect_garbage",
    "commit_checkpoint",
    "digest",
    "ops",
    "optimizer",
    "process_memory",
    "write_checkpoint",
]
