"""Settings that ask the same question: differences to the last, and the cheapest not worse.

Settings are the names on an axis such as the setting, in its order; the last is the reference. A
setting is *not worse* than it if its score is higher, or lower by less than a margin: the usual
test of non-inferiority, on pairs (`failure_tail`, statistics.md sections 3 and 8). With several
settings both directions have Holm's correction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pytest_tablebench.claims._claim import Claim, examples_needed
from pytest_tablebench.claims.estimate import Moments, failure_tail, holm
from pytest_tablebench.claims.paired import PairedEstimate, paired
from pytest_tablebench.config.axes import Axis
from pytest_tablebench.results.score_columns import CELL
from pytest_tablebench.results.sheets import ScoreSheet

MARGIN = 0.01
"""By how much the score of a setting may be lower than the score of the reference."""

TAIL = 0.025
"""The error of each direction, so that verdicts agree with the 95 % intervals."""

State = Literal["not worse", "worse", "undecided"]


def settings_of(sheets: Iterable[ScoreSheet], axis: Axis) -> list[str]:
    """Return the names of datasets on an axis, in its order; empty without several."""
    names = {name for sheet in sheets for name in sheet.names(axis.name)} - {""}
    return axis.order(names) if len(names) > 1 else []


def paired_settings(
    sheets: Sequence[ScoreSheet], axis: Axis, settings: Sequence[str], margin: float = MARGIN
) -> dict[str, dict[str, Any]]:
    """Return the difference of each of `settings` on an axis to the last, by name.

    Each entry has `difference`, `ci95` and `method`, the one-sided p-values `p` (of "not worse")
    and `p_worse`, `state`, `n_examples`, and `more_examples`: how many further examples
    would decide in 80 % of runs if the difference and its spread stay as they are (see
    `examples_needed`); None for a decided setting, or if no number would. Figures are None with
    fewer than two examples or tables.
    """
    *others, reference = settings
    pairs = {setting: _difference(sheets, axis, setting, reference) for setting in others}
    stats = {name: pair.moments for name, pair in pairs.items() if pair.moments is not None}
    tails = {setting: _tails(entry, margin) for setting, entry in stats.items()}
    verdicts: dict[str, State] = dict.fromkeys(others, "undecided")
    states: tuple[State, ...] = ("not worse", "worse")
    for index, state in enumerate(states):
        rejected = holm([tail[index] for tail in tails.values()], TAIL, len(others))
        verdicts |= {name: state for name, is_so in zip(tails, rejected, strict=True) if is_so}
    entries: dict[str, dict[str, Any]] = {}
    for setting, pair in pairs.items():
        entry = stats.get(setting)
        figures: dict[str, Any] = dict.fromkeys(
            ("difference", "ci95", "method", "p", "p_worse", "more_examples")
        )
        if entry is not None:
            p, p_worse = tails[setting]
            figures |= {"difference": entry.mean, "ci95": pair.ci95, "method": pair.method}
            figures |= {"p": p, "p_worse": p_worse}
            if verdicts[setting] == "undecided":
                claim = Claim(-margin, at_least=True, paired=True, tail=TAIL / len(others))
                needed = examples_needed(entry, claim)
                figures["more_examples"] = None if needed is None else needed - entry.n
        n = pair.examples if entry is not None else 0
        entries[setting] = {**figures, "n_examples": n, "state": verdicts[setting]}
    return entries


def _tails(stats: Moments, margin: float) -> tuple[float, float]:
    """Return the one-sided p-values of "not worse" and of "worse"."""
    not_worse = failure_tail(stats, -margin, above=False, paired=True)
    return not_worse, failure_tail(stats, -margin, above=True, paired=True)


def _difference(
    sheets: Sequence[ScoreSheet], axis: Axis, setting: str, reference: str
) -> PairedEstimate:
    """Return the difference of a setting's score to the reference's."""
    first, second = (
        {str(index): sheet.part(axis.name, name) for index, sheet in enumerate(sheets)}
        for name in (reference, setting)
    )
    others = [name for name in CELL if name != axis.name]
    return paired(first, second, "performance", by=others, tested=False)


def choose(figures: Mapping[str, Mapping[str, Any]], reference: str, axis: Axis) -> dict[str, Any]:
    """Return the cheapest setting that is not worse than the reference, under `cheapest`.

    `figures` are the entries by setting, with `paired` (but for the reference) and the price of an
    answer. The price is the cost if it is known for all settings, else the tokens of the replies,
    else the order of the axis; `by` says which. `cheapest` is None if no cheaper setting is shown
    to be as good, but some could be: these are `undecided`, and `more_examples` would decide all of
    them. `share` is the price relative to the reference's.
    """
    by, price = _prices(figures, axis)
    cheaper = [name for name in figures if name != reference and price[name] < price[reference]]
    as_good = [name for name in cheaper if figures[name]["paired"]["state"] == "not worse"]
    cheapest = min([*as_good, reference], key=lambda name: price[name])
    undecided = [
        name
        for name in cheaper
        if figures[name]["paired"]["state"] == "undecided" and price[name] < price[cheapest]
    ]
    numbers = [figures[name]["paired"]["more_examples"] for name in undecided]
    chosen = None if cheapest == reference and undecided else cheapest
    has_share = chosen is not None and by != "order" and price[reference] > 0
    return {
        "cheapest": chosen,
        "by": by,
        "share": price[cheapest] / price[reference] if has_share else None,
        "undecided": sorted(undecided, key=lambda name: price[name]),
        "more_examples": None if None in numbers else max(numbers, default=None),
    }


def _prices(figures: Mapping[str, Mapping[str, Any]], axis: Axis) -> tuple[str, dict[str, float]]:
    """Return what prices are measured in, and the price of each setting."""
    for by, key in (("cost", "usd_per_answer"), ("tokens", "tokens_per_answer")):
        values = {name: entry.get(key) for name, entry in figures.items()}
        prices = {name: value for name, value in values.items() if value is not None}
        if len(prices) == len(figures):
            return by, prices
    return "order", {name: float(index) for index, name in enumerate(axis.order(figures))}
