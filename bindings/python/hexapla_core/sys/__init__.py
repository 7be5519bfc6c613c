"""Layer sys: the C library, opened through cffi in ABI mode (no compiler is needed).

Separate because this is the one place that touches C: `ffi` and `lib` are cffi's own objects, untyped, and
only layer safe may use them. It opens the library named by the environment variable HEXAPLA_LIBRARY,
`libhexapla.so` of the loader's own path otherwise, and refuses another ABI version. No logic beyond that.
"""

from __future__ import annotations

import os
from typing import Any

import cffi  # type: ignore[import-untyped]

from hexapla_core.sys.declarations import ALL

LIBRARY_VARIABLE = "HEXAPLA_LIBRARY"

ffi: Any = cffi.FFI()
ffi.cdef(ALL)


def _open() -> Any:
    """The library. Raises ImportError, in one line, when it cannot be opened or has another ABI version."""
    path = os.environ.get(LIBRARY_VARIABLE, "libhexapla.so")
    try:
        library = ffi.dlopen(path)
        version = library.hxp_abi_version()
    except (OSError, AttributeError) as error:
        raise ImportError(f"{error}; set {LIBRARY_VARIABLE} to the path of libhexapla.so") from None
    if version != library.HXP_ABI_VERSION:
        raise ImportError(f"{path} has ABI version {version}, this binding is for {library.HXP_ABI_VERSION}")
    return library


lib: Any = _open()
