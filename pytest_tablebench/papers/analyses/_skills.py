"""Compute scores by skill, for datasets that tag their examples with one (spec: treb.md section 5).

A mode is a strategy, over all serializers it was asked in. The paper does not say whether its
leaderboard takes the best mode of each subtask or of each skill, so both are computed, and the mean
of all modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, Protocol

from pytest_tablebench.results.figures import mean

BEST_SUBTASK, BEST_SKILL, MEAN = "best mode of each subtask", "best mode of each skill", "all modes"
RULES = (BEST_SUBTASK, BEST_SKILL, MEAN)
"""The rules that combine the scores of subtasks in several modes into a skill's score."""

TAG = "skill"


class SkillRow(Protocol):
    """The fields of a record that `by_skill` reads."""

    @property
    def dataset(self) -> str: ...
    @property
    def example_id(self) -> str: ...
    @property
    def strategy(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def tags(self) -> Mapping[str, str]: ...
    @property
    def cost_usd(self) -> float | None: ...


def by_skill(rows: Iterable[SkillRow], overall: Sequence[str] = ()) -> dict[str, Any]:
    """Return the scores of one model by subtask, skill and mode; empty without tagged examples.

    A subtask is a dataset. Its score in a mode is the mean over examples of the means over their
    answered cases. `skills` contains the score of each skill by each of `RULES`. `overall`
    contains the plain mean of the skills in the argument `overall`, None if one has no score; by
    default it is the mean of all skills. The best mode of a skill must have a score in all of the
    skill's subtasks.

    `modes` contains, by strategy, its mean by skill over the subtasks it was asked, its number of
    `cases`, and `cost_usd` and `cost_per_case`, None if the cost of a case is unknown.
    """
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    skill_of: dict[str, str] = {}
    costs: dict[str, list[float | None]] = {}
    for row in rows:
        skill = row.tags.get(TAG)
        if skill is None:
            continue
        skill_of[row.dataset] = skill
        costs.setdefault(row.strategy, []).append(row.cost_usd)
        of_mode = scores.setdefault((row.dataset, row.strategy), {})
        if row.score is not None:
            of_mode.setdefault(row.example_id, []).append(row.score)
    if not skill_of:
        return {}
    subtasks = _subtasks(scores, skill_of)
    members: dict[str, list[str]] = {}
    for name in subtasks:
        members.setdefault(skill_of[name], []).append(name)
    skills = {rule: _skills(rule, subtasks, members, tuple(costs)) for rule in RULES}
    names = tuple(overall) or tuple(members)
    return {
        "subtasks": subtasks,
        "skills": skills,
        "overall": {rule: mean(map(by_name.get, names)) for rule, by_name in skills.items()},
        "modes": {mode: _mode(mode, paid, subtasks, members) for mode, paid in costs.items()},
    }


def _subtasks(
    scores: Mapping[tuple[str, str], Mapping[str, Sequence[float]]], skill_of: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    subtasks: dict[str, dict[str, Any]] = {}
    for (dataset, mode), examples in sorted(scores.items()):
        subtask = subtasks.setdefault(dataset, {"skill": skill_of[dataset], "modes": {}})
        subtask["modes"][mode] = mean(mean(examples[name]) for name in sorted(examples))
    for subtask in subtasks.values():
        by_mode = {mode: value for mode, value in subtask["modes"].items() if value is not None}
        subtask["best"] = best = max(by_mode.values(), default=None)
        subtask["best_modes"] = [mode for mode, score in by_mode.items() if score == best]
        subtask["mean"] = mean(by_mode.values())
    return subtasks


def _skills(
    rule: str,
    subtasks: Mapping[str, Mapping[str, Any]],
    members: Mapping[str, Sequence[str]],
    modes: Sequence[str],
) -> dict[str, float | None]:
    if rule != BEST_SKILL:
        key = "best" if rule == BEST_SUBTASK else "mean"
        return {
            skill: mean(subtasks[name][key] for name in names) for skill, names in members.items()
        }
    best: dict[str, float | None] = {}
    for skill, names in members.items():
        of_modes = [mean(subtasks[name]["modes"].get(mode) for name in names) for mode in modes]
        best[skill] = max((value for value in of_modes if value is not None), default=None)
    return best


def _mode(
    mode: str,
    costs: Sequence[float | None],
    subtasks: Mapping[str, Mapping[str, Any]],
    members: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    by_name = {
        skill: [subtasks[name]["modes"][mode] for name in names if mode in subtasks[name]["modes"]]
        for skill, names in members.items()
    }
    prices = [cost for cost in costs if cost is not None]
    cost = fsum(prices) if len(prices) == len(costs) else None
    return {
        "skills": {skill: mean(values) for skill, values in by_name.items()},
        "cases": len(costs),
        "cost_usd": cost,
        "cost_per_case": None if cost is None else cost / len(costs),
    }
