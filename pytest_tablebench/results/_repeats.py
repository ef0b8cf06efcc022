"""Cases asked several times: folded into one cell, and how much their answers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import comb, fsum, sqrt
from typing import Any, NamedTuple

from pytest_tablebench.errors import DataError
from pytest_tablebench.results._record import Scored

__all__ = ["FoldedCell", "fold_repeats", "pass_at_k", "pass_hat_k", "repeat_figures"]


class FoldedCell(NamedTuple):
    """One configuration of one example with all its repeats (a tuple: runs have 35,000).

    `asked` is the number of repeats, `scores` are those of the answered ones, ascending, `right`
    is how many of them passed, and `reasons` why the others have no answer. `score` is the mean
    of the scores and `passed` the share that passed, both from 0 to 1, None where no repeat was
    answered. `checks` gives, by test, the share of repeats that passed it, None where nobody knows.
    """

    benchmark: str
    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    asked: int
    scores: tuple[float, ...]
    right: int
    reasons: tuple[str, ...]
    score: float | None
    passed: float | None
    checks: Mapping[str, float | None]
    strategy: str = "direct"
    modality: str = "text"


def fold_repeats(records: Iterable[Scored]) -> list[FoldedCell]:
    """Return one cell for each example and configuration of one model's records.

    Cells come in the order of their first record; the order of repeats does not matter.
    """
    groups: dict[tuple[str, ...], list[Scored]] = {}
    for record in records:
        place = (
            record.benchmark,
            record.dataset,
            record.example_id,
            record.serializer,
            record.perturbation,
            record.strategy,
            record.modality,
        )
        groups.setdefault(place, []).append(record)
    return [_fold(repeats) for repeats in groups.values()]


def _fold(repeats: Sequence[Scored]) -> FoldedCell:
    one = repeats[0]
    place = one.benchmark, one.dataset, one.example_id, one.serializer, one.perturbation
    way = one.strategy, one.modality
    if len(repeats) == 1:  # nearly all there are: kept cheap
        (only,) = repeats
        score = only.score
        if score is None:
            why = (only.reason or "unknown",)
            return FoldedCell(*place, 1, (), 0, why, None, None, only.checks, *way)
        passed = int(bool(only.passed))
        return FoldedCell(*place, 1, (score,), passed, (), score, float(passed), only.checks, *way)
    scores = sorted(repeat.score for repeat in repeats if repeat.score is not None)
    right = sum(bool(repeat.passed) for repeat in repeats if repeat.score is not None)
    reasons = sorted(repeat.reason or "unknown" for repeat in repeats if repeat.score is None)
    answered = len(scores)
    return FoldedCell(
        *place,
        asked=len(repeats),
        scores=tuple(scores),
        right=right,
        reasons=tuple(reasons),
        score=mean_of_sorted(scores) if answered else None,
        passed=right / answered if answered else None,
        checks={
            name: _share([repeat.checks.get(name) for repeat in repeats])
            for name in sorted({name for repeat in repeats for name in repeat.checks})
        },
        strategy=one.strategy,
        modality=one.modality,
    )


def _share(verdicts: Sequence[float | None]) -> float | None:
    known = [verdict for verdict in verdicts if verdict is not None]
    return sum(known) / len(known) if known else None


def mean_of_sorted(scores: Sequence[float]) -> float:
    # Rounding must not move the mean of equal scores off them.
    return min(max(fsum(scores) / len(scores), scores[0]), scores[-1])


@lru_cache(maxsize=1 << 14)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of k repeats drawn from n, c of them right, is right.

    The unbiased estimator 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, Evaluating Large Language
    Models Trained on Code, section 2.1). Raises `DataError` unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(n, c, k)
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


@lru_cache(maxsize=1 << 14)
def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the chance that all of k repeats drawn from n, c of them right, are right.

    pass^k = C(c, k) / C(n, k) (Yao et al. 2024, tau-bench). Raises `DataError` unless
    0 <= c <= n and 1 <= k <= n.
    """
    _check(n, c, k)
    return comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise DataError(
            f"{c} right of {n} repeats, {k} drawn: of n repeats, 0 to n can be right and 1 to n "
            f"be drawn"
        )


def repeat_figures(datasets: Mapping[str, Sequence[FoldedCell]]) -> dict[str, Any] | None:
    """Return what `summary.json` says of the repeats of a scope; None where nothing was repeated.

    * `n`: repeats of a cell, at most;
    * `pass_at_k`, `pass_hat_k`: by k from "1" to n, the mean over an example's cells, then over
      examples, then over datasets;
    * `left_out`: by k, how many cells have fewer than k answered repeats, and are not in them;
    * `spread`: means over cells of two answered repeats or more, then over datasets: `sd` of the
      scores (with n - 1), `range` of the scores, and `disagree`, the share of cells of which
      some repeats are right and some wrong.

    A mean over datasets is None where one of them has none, as with all other measures.
    """
    cells = [cell for part in datasets.values() for cell in part]
    n = max((cell.asked for cell in cells), default=0)
    if n < 2:
        return None
    answered = Counter(len(cell.scores) for cell in cells)
    parts = [_pass_rates(part, n) for part in datasets.values()]
    spreads = [_spread(part) for part in datasets.values()]
    return {
        "n": n,
        "pass_at_k": {str(k): _mean([at[k - 1] for at, _ in parts]) for k in range(1, n + 1)},
        "pass_hat_k": {str(k): _mean([hat[k - 1] for _, hat in parts]) for k in range(1, n + 1)},
        "left_out": {
            str(k): sum(count for size, count in answered.items() if size < k)
            for k in range(1, n + 1)
        },
        "spread": {
            name: _mean([found[name] for found in spreads]) for name in ("sd", "range", "disagree")
        },
    }


def _pass_rates(
    cells: Sequence[FoldedCell], n: int
) -> tuple[list[float | None], list[float | None]]:
    """Return pass@k and pass^k of one dataset for k = 1 to n."""
    examples: dict[str, list[tuple[int, int]]] = {}
    for cell in cells:
        examples.setdefault(cell.example_id, []).append((len(cell.scores), cell.right))
    at: list[float | None] = []
    hat: list[float | None] = []
    for k in range(1, n + 1):
        enough = [[counts for counts in example if counts[0] >= k] for example in examples.values()]
        enough = [example for example in enough if example]
        at.append(_mean([_plain_mean([pass_at_k(*c, k) for c in found]) for found in enough]))
        hat.append(_mean([_plain_mean([pass_hat_k(*c, k) for c in found]) for found in enough]))
    return at, hat


def _spread(cells: Sequence[FoldedCell]) -> dict[str, float | None]:
    repeated = [cell for cell in cells if len(cell.scores) > 1]
    return {
        "sd": _mean([_deviation(cell.scores) for cell in repeated]),
        "range": _mean([cell.scores[-1] - cell.scores[0] for cell in repeated]),
        "disagree": _mean([float(0 < cell.right < len(cell.scores)) for cell in repeated]),
    }


def _deviation(scores: Sequence[float]) -> float:
    middle = mean_of_sorted(scores)
    return sqrt(fsum((score - middle) ** 2 for score in scores) / (len(scores) - 1))


def _plain_mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _plain_mean(known) if known and len(known) == len(values) else None
