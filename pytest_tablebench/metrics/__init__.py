"""Metrics and post-processors: pure functions from texts to scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.config.compat import Compat
    from pytest_tablebench.metrics._base import (
        JUDGED_PARTS,
        Judgement,
        Metric,
        Processed,
        Score,
        may_be_unclear,
    )
    from pytest_tablebench.metrics._bleu import corpus_bleu
    from pytest_tablebench.metrics._score import METRICS, begin, score
    from pytest_tablebench.metrics.replies import (
        POSTPROCESSORS,
        Postprocessor,
        postprocess,
        run_chain,
    )

__all__ = [
    "JUDGED_PARTS",
    "METRICS",
    "POSTPROCESSORS",
    "Compat",
    "Judgement",
    "Metric",
    "Postprocessor",
    "Processed",
    "Score",
    "begin",
    "corpus_bleu",
    "may_be_unclear",
    "postprocess",
    "run_chain",
    "score",
]

# Loaded on first use: the engine's processes need `Score`, but no metric.
__getattr__ = lazily(
    __name__,
    {
        "_base": ("JUDGED_PARTS", "Judgement", "Metric", "Processed", "Score", "may_be_unclear"),
        "_bleu": ("corpus_bleu",),
        "replies": ("POSTPROCESSORS", "Postprocessor", "postprocess", "run_chain"),
        "_score": ("METRICS", "begin", "score", "Compat"),
    },
)
