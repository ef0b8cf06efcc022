"""RealHiTBench's structure comprehending: two answers to one question (realhitbench.md, 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._realhit import realhit


def realhit_structure(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    structure: str = "both",
    **facts: Any,
) -> Score:
    """Score the answers about a plain table and about its rearranged twin, in this order.

    `structure` selects the score. `self`: the second answer equals the first, right or wrong (the
    published code). `gold`: the second equals the gold answer. `both`: each of them equals it. With
    a gold answer all three are parts. The other parts are those of `realhit` for the selected
    comparison; of two answers the lower counts.
    """
    answers = prediction if isinstance(prediction, list) else [prediction]
    first, second = answers[0], answers[-1]
    scored = {"self": [realhit(second, [first], compat=compat, **facts)]}
    if references:
        gold = [realhit(answer, references, compat=compat, **facts) for answer in (first, second)]
        scored |= {"gold": gold[1:], "both": gold}
    counted = scored[structure]
    parts = {name: min(score.parts[name] for score in counted) for name in counted[0].parts}
    parts |= {
        f"em_{name}": min(score.parts["em"] for score in scores) for name, scores in scored.items()
    }
    return Score(parts["em"], parts, "em")
