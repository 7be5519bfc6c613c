"""javac's words for ECJ: `python ecj.py JAVA ECJ_JAR WORDS...`, run in place of javac.

Separate because it runs as a program of its own, on nothing but the standard library. ECJ reads the API of
an older release from a file that only a JDK has; on a bare run time `--release N` would end it, so that the
language level and the class files stay those of N and the API is the run time's own.
"""

from __future__ import annotations

import os
import sys


def translated(words: list[str]) -> list[str]:
    """`--release N` as `-source N -target N`; all other words as they are."""
    result: list[str] = []
    rest = iter(words)
    for word in rest:
        release = next(rest, "") if word == "--release" else ""
        result += ["-source", release, "-target", release] if release else [word]
    return result


def main() -> None:
    java, jar, *words = sys.argv[1:]
    os.execv(java, [java, "-jar", jar, *translated(words)])


if __name__ == "__main__":
    main()
