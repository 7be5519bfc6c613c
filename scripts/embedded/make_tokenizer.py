"""Trains the embedded tokenizer: Qwen's tokenizer.json in small.

The normaliser, split pattern and added tokens are Qwen3's own; the 256 bytes and 486 merges below them
are learned from the text of the record files and of pretraining. Usage: make_tokenizer.py OUT_FOLDER
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from corpus import all_text
from tokenizers import Regex as TokenizersRegex
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

LEARNED = 742  # 256 bytes and 486 merges: with 26 added tokens the vocabulary is 768
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
PLAIN = (
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "tokenizer.json").write_text(build(), encoding="utf-8", newline="\n")


def build() -> str:
    """The text of tokenizer.json."""
    trained = json.loads(train(all_text()).to_str())["model"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    description = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": LEARNED + i,
                "content": content,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": content in SPECIAL,
            }
            for i, content in enumerate(SPECIAL + PLAIN)
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": trained["vocab"],
            "merges": trained["merges"],
        },
    }
    return json.dumps(description, ensure_ascii=False, separators=(",", ":")) + "\n"


def train(text: Iterator[str]) -> Tokenizer:
    """A byte-level BPE of exactly LEARNED ids."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(TokenizersRegex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=LEARNED, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    tokenizer.train_from_iterator(text, trainer)
    if tokenizer.get_vocab_size() != LEARNED:
        raise SystemExit(
            f"trained {tokenizer.get_vocab_size()} ids, expected {LEARNED}: the text is too small"
        )
    return tokenizer


if __name__ == "__main__":
    main()
