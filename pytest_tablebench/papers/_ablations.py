"""TreeThinker with and without its parts, next to the paper's Table 4 (realhitbench.md, 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_tablebench.papers._published import Noted, beside_published
from pytest_tablebench.papers._realhit import (
    CITATION,
    means_by_mode,
    published_means,
    whole_strategy,
)
from pytest_tablebench.papers.text import PaperTable
from pytest_tablebench.results.figures import plain_mean
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.util.calls import parse_call

_STRATEGY = "treethinker"
_MEASURES = ("tree_f1", "keyword_headers", "align_recall")
_VARIANTS: Mapping[str, Mapping[str, str]] = {
    "tree": {"on": "", "off": "w/o tree generation"},
    "tree_reasoning": {"on": "", "off": "w/o tree-based reasoning"},
    "align": {"model": "tree-keyword alignment by the model"},
}
_BY_RULE = "tree-keyword alignment by rule"


def realhit_ablations(runs: Sequence[Run]) -> PaperTable | None:
    """Return the means of each variant of TreeThinker, and the printed ones.

    None without a run of TreeThinker over one of the five tasks. `delta` is the change of `all`
    against the whole strategy. The other columns are means of the strategy's own measures.
    """
    rows: list[Noted] = []
    for mean, delta in means_by_mode(runs):
        if whole_strategy(mean.strategy) == _STRATEGY and mean.whole is not None:
            labels = (mean.run.model, "this run", mean.modality, variant(mean.strategy))
            measures = (_mean_of(mean.rows, name) for name in _MEASURES)
            rows.append(((*labels, mean.whole, delta, *measures), mean.strategy))
    blanks = (None,) * len(_MEASURES)
    others = (
        (model, source, modality, variant(str(strategy)), *figures, *blanks)
        for model, source, modality, strategy, *figures in published_means(("all", "delta"))
        if str(source).endswith("Table 4")
    )
    return beside_published(
        "realhit_ablations",
        "TreeThinker with and without its parts (layout of the paper's Table 4)",
        ("model", "source", "input", "variant", "all", "delta", *_MEASURES),
        own_rows=rows,
        others=others,
        notes=(
            CITATION,
            "delta is the change of all against the whole strategy, over the same questions",
            "the paper prints no figures for the alignment of keywords and headers",
        ),
    )


def variant(strategy: str) -> str:
    """Return what is left out of TreeThinker, or added to it; `all` for neither."""
    if "[" not in strategy:
        return "all"
    try:
        _, params = parse_call("strategy", strategy, words=True)
    except ValueError:
        return strategy
    names = (
        _VARIANTS.get(name, {}).get(str(value), _BY_RULE if name == "align" else f"{name}={value}")
        for name, value in params.items()
    )
    return ", ".join(filter(None, names)) or "all"


def _mean_of(rows: Iterable[RunRow], part: str) -> float | None:
    return plain_mean(row.parts.get(part) for row in rows)
