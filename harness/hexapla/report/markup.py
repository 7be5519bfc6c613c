"""Builds HTML so that nothing a trainer or a record said can become markup: text is escaped unless it was
built here. Separate because that promise is easier to keep in thirty lines than in every template.
"""

from __future__ import annotations

import html


class Markup(str):
    """Text that is HTML already. Only `tag` and `join` make it."""

    __slots__ = ()


Child = Markup | str | int | None


def tag(name: str, *children: Child, **attributes: str | bool | None) -> Markup:
    """An element. `class_` gives class, `data_level` data-level; None and False leave an attribute out."""
    words = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{words}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Children one after the other, each escaped unless it is Markup; None gives nothing."""
    return Markup("".join(_text(child) for child in children if child is not None))


def _text(child: Markup | str | int) -> str:
    return child if isinstance(child, Markup) else html.escape(str(child))
