"""Level `abi`: do both sides see the same layout? Sizes, offsets, constants, in each language.

Separate because its judge is the C compiler: a program made from the public headers prints what C sees, and
every implementation must say the same. An implementation that sees no C layout (torch, native) has no
answer to give, and none is asked of it.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from hexapla.levels.level import Finding, Inputs, Level, NotApplicable
from hexapla.levels.session import RequestSkipped, Session
from hexapla.protocol import Outcome
from hexapla.protocol.events import Abi as AbiEvent

_STRUCT = re.compile(r"typedef struct (hxp_\w+) \{(.*?)\} \1;", re.DOTALL)
_ALIAS = re.compile(r"typedef u?int\d+_t (hxp_\w+);")
_FUNCTION = re.compile(r"typedef \w+ \(\*(hxp_\w+)\)\(")
_CONSTANT = re.compile(r"(HXP_\w+) = -?\d+")
_FIELD = re.compile(r"(\w+)(?:\[\d+\])?$")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# The one constant that is a macro, since bindings ask for it before they trust anything else.
_VERSION = "HXP_ABI_VERSION"
_SHOWN = 3
# On core, but by its C++ objects: no struct, handle or constant of the C ABI is declared there.
_NO_LAYOUT = frozenset({"native"})

Layout = dict[str, Any]


class Abi(Level[Layout]):
    name: ClassVar[str] = "abi"

    def observe(self, session: Session, inputs: Inputs) -> Layout:
        hello = session.greet()
        if hello.core is None or session.name in _NO_LAYOUT:
            raise NotApplicable("it sees no C layout")
        if "abi" not in hello.capabilities:
            raise RequestSkipped("its capabilities lack abi")
        event = session.ask("abi", "abi").events[0]
        assert isinstance(event, AbiEvent)  # protocol.order saw to it
        return {"abi_version": event.abi_version, "types": event.types, "constants": event.constants}

    def judge(
        self, observed: Mapping[str, Layout], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        expected = layout_of_headers(inputs.headers, inputs.c_compiler, inputs.work / "abi")
        findings = {}
        for name, layout in observed.items():
            differences = list(_differences(layout, expected))
            figures = {"types": len(layout["types"]), "constants": len(layout["constants"])}
            if differences:
                more = f"; {len(differences)} differences in all" if len(differences) > _SHOWN else ""
                reason = f"{name}: {'; '.join(differences[:_SHOWN])}{more}"
                findings[name] = Finding(Outcome.FAIL, reason, "runtime", figures)
            else:
                findings[name] = Finding(Outcome.PASS, figures=figures)
        return findings


def layout_of_headers(headers: Path, compiler: tuple[str, ...], work: Path) -> Layout:
    """Compile and run a program that prints the layout of every struct, alias and constant declared.

    headers: the folder with hexapla.h. compiler: the words of a C compiler. work: made if absent.
    """
    work.mkdir(parents=True, exist_ok=True)
    source = work / "layout.c"
    source.write_text(_program(headers), "utf-8")
    program = work / "layout"
    command = [*compiler, "-std=c17", f"-I{headers}", str(source), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    layout = json.loads(text)
    assert isinstance(layout, dict)
    return layout


def _program(headers: Path) -> str:
    texts = [path.read_text("utf-8") for path in sorted((headers / "hexapla").glob("*.h"))]
    text = _COMMENT.sub("", "\n".join(texts))
    types: list[tuple[str, list[str]]] = []
    types += [(name, []) for name in _ALIAS.findall(text) + _FUNCTION.findall(text)]
    for name, body in _STRUCT.findall(text):
        matches = [match for part in body.split(";") if (match := _FIELD.search(part.strip()))]
        types.append((name, [match.group(1) for match in matches]))
    lines = [
        "#include <stddef.h>",
        "#include <stdio.h>",
        "#include <hexapla.h>",
        "int main(void) {",
        f'  printf("{{\\"abi_version\\":%lld,\\"types\\":{{", (long long){_VERSION});',
    ]
    for index, (name, fields) in enumerate(types):
        comma = "," if index else ""
        lines.append(
            f'  printf("{comma}\\"{name}\\":{{\\"size\\":%zu,\\"align\\":%zu,\\"fields\\":{{", '
            f"sizeof({name}), _Alignof({name}));"
        )
        for place, field in enumerate(fields):
            comma = "," if place else ""
            lines.append(
                f'  printf("{comma}\\"{field}\\":[%zu,%zu]", offsetof({name}, {field}), '
                f"sizeof((({name} *)0)->{field}));"
            )
        lines.append('  printf("}}");')
    lines.append('  printf("},\\"constants\\":{");')
    for index, name in enumerate([_VERSION, *_CONSTANT.findall(text)]):
        comma = "," if index else ""
        lines.append(f'  printf("{comma}\\"{name}\\":%lld", (long long){name});')
    lines += ['  printf("}}\\n");', "  return 0;", "}", ""]
    return "\n".join(lines)


def _differences(layout: Layout, expected: Layout) -> Iterator[str]:
    if layout["abi_version"] != expected["abi_version"]:
        yield f"abi_version {layout['abi_version']}, not {expected['abi_version']}"
    yield from _names("type", layout["types"], expected["types"])
    yield from _names("constant", layout["constants"], expected["constants"])
    for name, right in expected["types"].items():
        seen = layout["types"].get(name)
        if seen is None or seen == right:
            continue
        for key in ("size", "align"):
            if seen[key] != right[key]:
                yield f"{name}: {key} {seen[key]}, not {right[key]}"
        yield from _names(f"field of {name}", seen["fields"], right["fields"])
        for field, (offset, size) in right["fields"].items():
            if field in seen["fields"] and list(seen["fields"][field]) != [offset, size]:
                got = seen["fields"][field]
                yield f"{name}.{field}: offset {got[0]}, size {got[1]}, not {offset}, {size}"
    for name, value in expected["constants"].items():
        if layout["constants"].get(name, value) != value:
            yield f"{name} is {layout['constants'][name]}, not {value}"


def _names(kind: str, seen: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(right.keys() - seen.keys()):
        yield f"{kind} {name} is missing"
    for name in sorted(seen.keys() - right.keys()):
        yield f"{kind} {name} is unknown to the headers"
