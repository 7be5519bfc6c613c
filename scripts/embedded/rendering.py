"""SPEC.md's rendering, labels and reasons of rejection, for the scripts that make the embedded default.

A copy of its own, on the tokenizers library: the harness and the trainers are judged on these records and
must not be what decides their number. It must stay independent of them.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

Record = dict[str, str]


@dataclass(frozen=True)
class Rendered:
    """Ids and label flags of one record, after the cut to `length`."""

    ids: list[int]
    flags: list[bool]


class Renderer:
    """Renders records with one tokenizer.json; no added token is recognised inside record text."""

    def __init__(self, file: Path) -> None:
        description = json.loads(file.read_text(encoding="utf-8"))
        self.added = {token["content"]: int(token["id"]) for token in description["added_tokens"]}
        self._plain = Tokenizer.from_str(json.dumps({**description, "added_tokens": []}))

    def encode(self, text: str) -> list[int]:
        """E(text): NFC, split, BPE."""
        ids: list[int] = self._plain.encode(text, add_special_tokens=False).ids
        return ids

    def render(self, record: Record, length: int, template: str = "qwen3") -> Rendered | str:
        """The record's ids and flags, or its reason of rejection."""
        answer = record["answer"]
        if "</think>" in answer:
            return "think"
        answer = answer.lstrip("\n")
        if not answer:
            return "empty"
        prompt: list[int] = []
        if "system" in record:
            prompt += self._turn("system\n" + record["system"])
        prompt += [*self._turn("user\n" + record["question"]), self.added["<|im_start|>"]]
        prefix_text = "assistant\n"
        if template == "qwen3":
            prompt += self.encode(prefix_text)
            prompt += [self.added["<think>"], *self.encode("\n\n"), self.added["</think>"]]
            prefix_text = "\n\n"
        prefix = self.encode(prefix_text)
        piece = self.encode(prefix_text + answer)
        if piece[: len(prefix)] != prefix:
            return "joined"
        end = [self.added["<|im_end|>"]]
        newline = self.encode("\n")
        ids = prompt + piece + end + newline
        flags = [False] * (len(prompt) + len(prefix)) + [True] * (len(piece) - len(prefix) + 1)
        flags += [False] * len(newline)
        if not any(flags[:length]):
            return "no_label"
        return Rendered(ids[:length], flags[:length])

    def _turn(self, text: str) -> list[int]:
        return [self.added["<|im_start|>"], *self.encode(text), self.added["<|im_end|>"], *self.encode("\n")]
