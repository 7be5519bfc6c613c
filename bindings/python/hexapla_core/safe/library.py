"""Who the library is, and the layout of its structs as Python sees them.

Separate because the `abi` request asks what this binding believes: everything here is read from the
declarations of layer sys, nothing from C.
"""

from __future__ import annotations

from dataclasses import dataclass

from hexapla_core.sys import ffi, lib


@dataclass(frozen=True)
class TypeLayout:
    """Size and alignment in bytes; fields: name → (offset, size). Aliases have no fields."""

    size: int
    align: int
    fields: dict[str, tuple[int, int]]


def build_info() -> str:
    """One line: version, commit, compiler, CPU, BLAS, backends, faults."""
    return str(ffi.string(lib.hxp_build_info()).decode("utf-8"))


def build_faults() -> list[str]:
    """The fault switches compiled in; [] in a normal build."""
    return [name for name in ffi.string(lib.hxp_build_faults()).decode("utf-8").split(",") if name]


def abi_version() -> int:
    """The ABI version that the loaded library was built for."""
    return int(lib.hxp_abi_version())


def layouts() -> dict[str, TypeLayout]:
    """Every struct, handle alias and function type of the declarations, by its C name."""
    names, _, _ = ffi.list_types()
    found = {}
    for name in sorted(name for name in names if name.startswith("hxp_")):
        kind = ffi.typeof(name)
        members = kind.fields if kind.kind == "struct" else []
        fields = {member: (field.offset, ffi.sizeof(field.type)) for member, field in members}
        found[name] = TypeLayout(ffi.sizeof(kind), ffi.alignof(kind), fields)
    return found


def constants() -> dict[str, int]:
    """Every constant of the declarations, by its C name."""
    return {name: int(getattr(lib, name)) for name in sorted(dir(lib)) if name.startswith("HXP_")}
