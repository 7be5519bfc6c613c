"""Whether a trainer's core has just the faults that this run asked for.

Separate so that every command that starts a trainer asks the same: a core that can be made wrong must never
be taken for a normal one, nor a fault that was not switched on for one that nothing caught.
"""

from __future__ import annotations

from hexapla.protocol import Hello


def unmeant_faults(hello: Hello, wanted: str) -> str:
    """What is wrong with a core's faults, in words; "" when nothing is.

    wanted: "" in a normal run; else the fault that was switched on, or "none" for the control.
    """
    if not wanted and hello.faults:
        return f"its core can be made wrong ({', '.join(hello.faults)}): only --core-fault may run that"
    if not wanted or hello.core is None:
        return ""
    if not hello.faults or not hello.core.endswith(f"; on: {wanted}"):
        return f"fault {wanted} was asked for, and its core says: {hello.core}"
    return ""
