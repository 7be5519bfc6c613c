"""Speaks a protocol of the future."""

from functools import partial

from speak import hello, serve

serve(hello=partial(hello, protocol=2))
