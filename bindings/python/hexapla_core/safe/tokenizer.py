"""The tokenizer: a tokenizer.json of byte-level BPE with NFC.

Separate by the header it mirrors, `hexapla/tokenizer.h`. Any number of threads may encode at once.
"""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass

from hexapla_core.safe.errors import InvalidArgument, call, make
from hexapla_core.safe.handle import Handle
from hexapla_core.sys import ffi, lib


@dataclass(frozen=True)
class AddedToken:
    """A token that stands outside the BPE vocabulary."""

    id: int
    text: str
    special: bool


class Tokenizer(Handle):
    """A tokenizer.json, opened."""

    __slots__ = ()

    _retain = lib.hxp_tokenizer_retain
    _release = lib.hxp_tokenizer_release

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Open the tokenizer.json of a folder. Raises FileError, FormatError, Unsupported."""
        self._own(make(lib.hxp_tokenizer_open, os.fsencode(folder)))

    def encode(self, text: str) -> array[int]:
        """The ids of a text; no added token is recognised inside it."""
        data = text.encode("utf-8")
        # As many ids as bytes are enough unless NFC makes the text longer; then core says how many.
        try:
            return self._encode(data, len(data))[0]
        except _TooSmall as short:
            return self._encode(data, short.count)[0]

    def _encode(self, data: bytes, capacity: int) -> tuple[array[int], int]:
        ids = array("i", bytes(4 * capacity))
        count = ffi.new("uint64_t *")
        try:
            room = ffi.from_buffer("int32_t[]", ids)
            call(lib.hxp_tokenizer_encode, self._id, data, len(data), room, capacity, count)
        except InvalidArgument as error:
            if count[0] > capacity:
                raise _TooSmall(int(count[0])) from error
            raise
        finally:
            ffi.release(room)  # an array that lends its memory cannot be cut
        del ids[count[0] :]
        return ids, int(count[0])

    def id(self, text: str) -> int:
        """The id of an added token by its text. Raises NotFound."""
        out = ffi.new("int32_t *")
        call(lib.hxp_tokenizer_id, self._id, text.encode("utf-8"), out)
        return int(out[0])

    def added_tokens(self) -> list[AddedToken]:
        """The added tokens, in the file's order."""
        tokens = []
        for index in range(make(lib.hxp_tokenizer_added_count, self._id)):
            out = ffi.new("hxp_added_token *")
            lib.hxp_added_token_init(out)
            call(lib.hxp_tokenizer_added, self._id, index, out)
            text = ffi.buffer(out.text, out.text_bytes)[:].decode("utf-8")
            tokens.append(AddedToken(int(out.id), text, bool(out.special)))
        return tokens


class _TooSmall(Exception):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count
