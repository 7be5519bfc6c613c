"""A handle: one id of a core object, and its owner in Python.

Separate because every kind shares it. One wrapper owns one id. `close` (or `with`) gives it back; closing
again does nothing, and using a closed handle raises core's own StaleHandle, since core never gives an id
out twice. A wrapper that is lost unclosed is caught by a net that releases the id and warns with
ResourceWarning, as an unclosed file does; the net is not the plan, since Python cannot see device memory.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any, ClassVar, NoReturn, Self

from hexapla_core.safe.errors import call, make
from hexapla_core.sys import ffi


class Handle:
    """Base of all handles; use the kinds (Context, Tensor, …). Safe to use from any thread."""

    __slots__ = ("__weakref__", "_finalizer", "_id")

    _retain: ClassVar[Any]
    _release: ClassVar[Any]
    _id: int
    _finalizer: weakref.finalize[Any, Any]

    def _own(self, identifier: int) -> None:
        self._id = identifier
        self._finalizer = weakref.finalize(self, _release_forgotten, type(self), identifier)

    @classmethod
    def _adopt(cls, identifier: int) -> Self:
        handle = cls.__new__(cls)
        handle._own(identifier)
        return handle

    def close(self) -> None:
        """Give this owner's share back. Closing twice does nothing, also when two threads do it at once."""
        if self._finalizer.detach() is not None:
            call(self._release, self._id)

    @property
    def closed(self) -> bool:
        """Whether this owner has given its share back."""
        return not self._finalizer.alive

    def copy(self) -> Self:
        """A second owner of the same object; both see every change. Not a copy of values."""
        return self._adopt(make(self._retain, self._id))

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} has no deep copy: copy() shares, write(read()) copies")

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} belongs to this process and cannot be pickled")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id:#018x}{' closed' if self.closed else ''}>"


class Forgotten:
    """How many handles the net has caught in this process; the pressure hook watches it."""

    count = 0


def _release_forgotten(kind: type[Handle], identifier: int) -> None:
    # No error struct and no check: a finaliser has nobody to tell, and at exit it may be the last to run.
    kind._release(identifier, ffi.NULL)
    Forgotten.count += 1
    warnings.warn(f"unclosed {kind.__name__} {identifier:#018x}", ResourceWarning, stacklevel=2)


def id_of(handle: Handle | None) -> int:
    """The id of a handle; 0 for None."""
    return 0 if handle is None else handle._id
