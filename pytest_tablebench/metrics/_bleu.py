"""BLEU of one generated text (Papineni and others 2002), as each benchmark reports it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.extras import require
from pytest_tablebench.metrics._base import Processed, Score, heavy, needs

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


@needs("sacrebleu")
@heavy
def bleu(prediction: Processed, references: Sequence[Processed], **_: Any) -> Score:
    """Return BLEU-4 of one text, 0 to 1, without smoothing.

    It is 0 if no sequence of four tokens is shared. With several references, a sequence counts as
    often as in the reference that contains it most often. The reference nearest in length sets the
    brevity penalty.
    """
    texts = [text for text in map(str, references) if text.strip()]
    bleu = _sacrebleu("none", effective_order=False)
    value = (
        _share(bleu.corpus_score([str(prediction)], [[text] for text in texts]).score)
        if texts
        else 0.0
    )
    return Score(value, {"bleu": value}, "bleu")


def sentence_bleu(prediction: str, reference: str) -> float:
    """Return sacreBLEU's sentence BLEU of one text against one reference, 0 to 1.

    It counts sequences of one to four tokens; a shorter text has only shorter sequences.
    """
    return _share(_sacrebleu().sentence_score(prediction, [reference]).score)


def corpus_bleu(predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return sacreBLEU's corpus BLEU of texts against one reference each, 0 to 1.

    It is 0 if no text has four tokens.
    """
    bleu = _sacrebleu(effective_order=False)
    return _share(bleu.corpus_score(predictions, [references]).score)


def _share(percentage: float) -> float:
    return min(1.0, float(percentage) / 100)  # rounding can exceed 100


@cache
def _sacrebleu(smoothing: str = "exp", *, effective_order: bool = True) -> BLEU:
    require(["sacrebleu"], "BLEU")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(smooth_method=smoothing, effective_order=effective_order)
