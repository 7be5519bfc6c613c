"""One micro-batch through the model: negative log-likelihoods of the flagged ids.

Separate because training and evaluation must share it to the letter. It records a graph or not as
its caller says; it must not weigh, average or reorder anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .failure import Failure
from .render import Example


def check_vocabulary(model: Any, examples: list[Example], tokenizer: str) -> None:
    """Every id must have a row in the embedding."""
    rows = model.config.vocab_size
    for example in examples:
        if max(example.ids) >= rows:
            message = f"id {max(example.ids)} of record {example.record} is outside the model's {rows} rows"
            raise Failure("tokenizer", message, tokenizer)


def micro_batches(examples: list[Example], size: int) -> Iterator[list[Example]]:
    """Successive runs of `size` examples; the last may be shorter."""
    for start in range(0, len(examples), size):
        yield examples[start : start + size]


def negative_log_likelihoods(model: Any, examples: list[Example]) -> torch.Tensor:
    """f32 nll of each flagged id, record by record in order: (labels,).

    Records are padded on the right. A pad is behind everything that is read, the mask keeps it out of
    every real row, and the head sees only the rows before flagged ids.
    """
    width = max(len(example.ids) for example in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)
    mask = torch.zeros(len(examples), width, dtype=torch.long)
    rows, targets = [], []  # rows count through the padded batch
    for index, example in enumerate(examples):
        count = len(example.ids)
        ids[index, :count] = torch.tensor(example.ids)
        mask[index, :count] = 1
        for position, flag in enumerate(example.labels):
            if flag:
                rows.append(index * width + position - 1)
                targets.append(example.ids[position])
    hidden = _decoder(model)(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    hidden = hidden.reshape(-1, hidden.shape[-1]).index_select(0, torch.tensor(rows))  # (labels, hidden)
    logits = _causal_lm(model).lm_head(hidden)  # (labels, vocab)
    return torch.nn.functional.cross_entropy(logits, torch.tensor(targets), reduction="none")


def record_sums(values: torch.Tensor, examples: list[Example]) -> list[float]:
    """Each record's NLL: the f64 running sum of its labels in order.

    Not `sum`: from Python 3.12 on it compensates, which is another number.
    """
    flat = iter(values.detach().double().tolist())
    sums = []
    for example in examples:
        total = 0.0
        for flag in example.labels:
            if flag:
                total += next(flat)
        sums.append(total)
    return sums


def running_sum(values: list[float]) -> float:
    """Plain f64 running sum in order."""
    total = 0.0
    for value in values:
        total += value
    return total


def _causal_lm(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _decoder(model: Any) -> Any:
    return _causal_lm(model).model
