"""Runs on a core that was built to be wrong, and says so."""

from functools import partial

from speak import hello, serve

serve(hello=partial(hello, faults=["missing_share"]))
