"""F1 of tokens and of labels: ToRR's texts, TabFact and TURL (spec: torr.md, sections 7 to 9)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.extras import require
from pytest_tablebench.metrics._base import Processed, Score, needs
from pytest_tablebench.metrics._normal import canonical_number, normalized

# Marks that only separate or wrap answers; signs such as %, $, + and - have a meaning.
_WRAPPING = frozenset(",.;:!?'\"()[]{}`´‘’“”«»„…")

_LONG = 1000
_LONG_RUN = re.compile(rf"(\S{{{_LONG},}})")


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    # Only the rules: equal to the reference's pipeline with every component off.
    require(["spacy"], "token F1")
    from spacy.lang.en import English

    return English().tokenizer


def tokens(text: str) -> tuple[str, ...]:
    """Return the lower-cased tokens of a text, including white space and marks."""
    return _cached(text) if len(text) < _LONG else _split(text)


def words(text: str) -> tuple[str, ...]:
    """Return a number as its value, other text as its tokens without separating marks.

    A text of nothing but marks is returned in lower case.
    """
    number = canonical_number(text.strip())
    if number is not None:
        return (number,)
    words = (
        token for token in tokens(text) if not token.isspace() and not _WRAPPING.issuperset(token)
    )
    return tuple(canonical_number(token) or token for token in words) or tuple(
        filter(None, [text.strip().lower()])
    )


def _split(text: str) -> tuple[str, ...]:
    # The tokenizer rejects lone surrogates. Its time grows with the square of a run of marks
    # without a blank, so a run longer than in any answer is one token.
    text = text.encode("utf-8", "replace").decode("utf-8")
    pieces: list[str] = []
    for piece in _LONG_RUN.split(text):
        if len(piece) >= _LONG and _LONG_RUN.fullmatch(piece):
            pieces.append(piece.lower())
        else:
            pieces += (token.text.lower() for token in _tokenizer()(piece))
    return tuple(pieces)


_cached = lru_cache(maxsize=4096)(_split)  # references and short replies are tokenized repeatedly


def f_measure(hits: int, reference: int, prediction: int) -> float:
    """Return F1 from the number of shared items and the sizes of both sides; 0 without a hit."""
    if not hits:
        return 0.0
    # The published order of operations, so that results are equal to the last digit.
    precision, recall = hits / prediction, hits / reference
    return 2 * precision * recall / (precision + recall)


def _label_parts(
    predicted: Sequence[Collection[str]],
    gold: Sequence[Collection[str]],
    labels: Collection[str],
    correct: int,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return accuracy, micro and macro F1, and F1 by label; each F1 is 0 without a hit.

    The labels of each item, predicted and gold, have shape (items,). Only `labels` count:
    predicting another label costs recall, but no precision. `correct` items are right.
    """
    hits = sizes = 0
    by_label = {}
    for label in sorted(labels):
        hit = sum(
            label in named and label in other for named, other in zip(predicted, gold, strict=True)
        )
        size = sum(label in named for named in (*predicted, *gold))
        by_label[label] = 2 * hit / size if hit else 0.0
        hits, sizes = hits + hit, sizes + size
    parts = {
        "accuracy": correct / len(predicted) if predicted else 0.0,
        "f1_micro": 2 * hits / sizes if hits else 0.0,
        "f1_macro": sum(by_label.values()) / len(by_label) if by_label else 0.0,
    }
    return parts, by_label


def token_f1(reference: Iterable[str], prediction: Iterable[str]) -> float:
    """Return F1 of two bags of tokens; 0 without a shared token."""
    reference_counts, prediction_counts = Counter(reference), Counter(prediction)
    return f_measure(
        (reference_counts & prediction_counts).total(),
        reference_counts.total(),
        prediction_counts.total(),
    )


@needs("spacy")
def f1_strings(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return token F1 between a prediction and all references together (torr.md section 8.2).

    The tokens of all references form one bag, so every reference is expected. `reference` counts
    every token. `fixed` omits marks that only separate or wrap, and compares numbers by value.
    """
    if compat == "reference":
        joined = " ".join(str(reference) for reference in references)
        value = token_f1(tokens(joined), tokens(str(prediction)))
    else:
        value = token_f1(_plain_tokens(flat(references)), _plain_tokens(flat([prediction])))
    return Score(value, {"f1_strings": value}, "f1_strings")


def flat(values: Iterable[Processed]) -> list[str]:
    """Return processed values, lists and texts, as one list of texts."""
    return [
        str(item)
        for value in values
        for item in (value if isinstance(value, list | tuple) else [value])
    ]


def _plain_tokens(items: Iterable[str]) -> list[str]:
    return [word for item in items for word in words(normalized("NFC", item))]


def tab_fact(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return accuracy and F1 of one verdict; the score is accuracy, in `reference` micro F1.

    For a single example the two are equal; they differ in `tab_fact_batch`.
    """
    return tab_fact_batch([prediction], [references], compat=compat)


def tab_fact_batch(
    predictions: Sequence[Processed],
    references: Sequence[Sequence[Processed]],
    *,
    compat: Compat = "fixed",
    **_: Any,
) -> Score:
    """Return accuracy, micro and macro F1 and F1 per label over a batch of verdicts.

    The labels are those that occur among the references. A prediction outside them costs recall and
    not precision, so micro F1 can exceed accuracy. F1 with a zero denominator is 0.
    """
    texts = [str(prediction) for prediction in predictions]
    expected = [[str(reference) for reference in accepted] for accepted in references]
    gold = [accepted[0] if accepted else "" for accepted in expected]
    correct = sum(text in accepted for text, accepted in zip(texts, expected, strict=True))
    parts, by_label = _label_parts(
        [{text} for text in texts], [{text} for text in gold], set(gold), correct
    )
    parts |= {f"f1_{label}": value for label, value in by_label.items()}
    part = "f1_micro" if compat == "reference" else "accuracy"
    return Score(parts[part], parts, part)


def turl(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return micro F1 (the score), macro F1 and accuracy of one column's types.

    `prediction` and each reference are lists of types; the first reference has the gold types. It
    equals `turl_batch` on this column.
    """
    return turl_batch([prediction], [references], compat=compat)


def turl_batch(
    predictions: Sequence[Processed],
    references: Sequence[Sequence[Processed]],
    *,
    compat: Compat = "fixed",
    **_: Any,
) -> Score:
    """Return micro F1 (the score), macro F1 and accuracy of a batch of columns.

    `predictions` has shape (columns,) of lists of types, `references` shape (columns, accepted
    lists), of which the first is gold. A label counts once per column, even if named repeatedly.
    Micro F1 is `2 TP / (2 TP + FP + FN)` over all labels and columns, macro F1 the mean over labels
    of the same per label; 0 without a hit.

    `reference`: the labels are the batch's gold types; a predicted type outside them is ignored.
    `fixed`: every predicted type is a label, so wrong ones cost precision. Further types of a
    vocabulary have no F1 and do not count.

    Accuracy is the share of columns whose list equals an accepted one, including order and
    repetitions, in both modes.
    """
    predicted = [_labels(prediction) for prediction in predictions]
    expected = [[_labels(labels) for labels in accepted] for accepted in references]
    correct = sum(labels in accepted for labels, accepted in zip(predicted, expected, strict=True))
    gold = [set(accepted[0]) if accepted else set[str]() for accepted in expected]
    named = [set(labels) for labels in predicted]
    labels = set[str]().union(*gold)
    if compat == "fixed":
        # An empty reply, or two commas in a row, yields an empty text, which is no type.
        labels = labels.union(*named) - {""}
    parts, _ = _label_parts(named, gold, labels, correct)
    return Score(parts["f1_micro"], parts, "f1_micro")


def _labels(value: Processed) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
