"""Scores by skill, for datasets that tag their examples with one (spec: treb.md section 5).

A mode is a strategy, over all serializers it was asked in. The paper does not say whether its
leaderboard takes the best mode of each subtask or of each skill, so both are computed, and the mean
of all modes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from pytest_tablebench.papers._published import (
    Noted,
    beside_published,
    caveat,
    paper,
    published,
    shares,
)
from pytest_tablebench.papers.table import PaperTable, Row, all_keys, captioned
from pytest_tablebench.results.figures import mean
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.util.names import tied

BEST_SUBTASK, BEST_SKILL, MEAN = "best mode of each subtask", "best mode of each skill", "all modes"
RULES = (BEST_SUBTASK, BEST_SKILL, MEAN)
"""The rules that combine the scores of subtasks in several modes into a skill's score."""

TAG = "skill"
BENCHMARK = "treb"
_SKILLS: Mapping[str, Mapping[str, Any]] = paper(BENCHMARK)["skills"]
"""TReB's skills of tables: their columns in the published rows, and their number of subtasks."""

_JUDGED = "llm_score"


def by_skill(rows: Iterable[RunRow], overall: Sequence[str] = ()) -> dict[str, Any]:
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
    members: dict[str, list[dict[str, Any]]] = {}
    for name, subtask in subtasks.items():
        members.setdefault(skill_of[name], []).append(subtask)
    skills = {
        rule: {skill: _skill(rule, parts, costs) for skill, parts in members.items()}
        for rule in RULES
    }
    names = tuple(overall) or tuple(members)
    return {
        "subtasks": subtasks,
        "skills": skills,
        "overall": {rule: mean(map(by_name.get, names)) for rule, by_name in skills.items()},
        "modes": {mode: _mode(mode, paid, members) for mode, paid in costs.items()},
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


def _skill(rule: str, subtasks: Sequence[Mapping[str, Any]], modes: Iterable[str]) -> float | None:
    """Return the score of a skill by one of the rules."""
    if rule != BEST_SKILL:
        return mean(subtask["best" if rule == BEST_SUBTASK else "mean"] for subtask in subtasks)
    of_modes = (mean(subtask["modes"].get(mode) for subtask in subtasks) for mode in modes)
    return max((value for value in of_modes if value is not None), default=None)


def _mode(
    mode: str, costs: Sequence[float | None], members: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    prices = [cost for cost in costs if cost is not None]
    cost = fsum(prices) if len(prices) == len(costs) else None
    return {
        "skills": {
            skill: mean(part["modes"][mode] for part in parts if mode in part["modes"])
            for skill, parts in members.items()
        },
        "cases": len(costs),
        "cost_usd": cost,
        "cost_per_case": None if cost is None else cost / len(costs),
    }


def skill_analysis(runs: Sequence[Run], benchmark: str) -> dict[str, Any]:
    """Return the scores by skill of each model, over all of its runs; empty without such tags."""
    overall = tuple(_SKILLS) if benchmark == BENCHMARK else ()
    by_model = {model: by_skill(rows, overall) for model, rows in _rows_of(runs, benchmark).items()}
    return {model: scores for model, scores in by_model.items() if scores}


def _rows_of(runs: Sequence[Run], benchmark: str) -> dict[str, list[RunRow]]:
    """Return the rows of each model, over all of its runs and modes."""
    by_model: dict[str, list[RunRow]] = {}
    for run in runs:
        benchmark_rows = [row for row in run.rows if row.benchmark == benchmark]
        if benchmark_rows:
            by_model.setdefault(run.facts.model, []).extend(benchmark_rows)
    return by_model


# Tables


def skill_tables(analysis: Mapping[str, Any]) -> list[PaperTable]:
    """Return the tables of `skill_analysis`: by skill, by strategy with its price, by subtask."""
    if not analysis:
        return []
    skills = skills_of(analysis)
    modes = all_keys(model_scores["modes"] for model_scores in analysis.values())
    by_rule: list[Row] = []
    by_mode: list[Row] = []
    by_subtask: list[Row] = []
    for model, model_scores in analysis.items():
        for rule in RULES:
            scores = map(model_scores["skills"][rule].get, skills)
            by_rule.append((model, rule, *scores, model_scores["overall"][rule]))
        for mode, part in model_scores["modes"].items():
            price = part["cases"], part["cost_usd"], part["cost_per_case"]
            by_mode.append((model, mode, *map(part["skills"].get, skills), *price))
        for name, part in model_scores["subtasks"].items():
            best = tied(part["best_modes"], "strategy") if part["best_modes"] else "-"
            scores = map(part["modes"].get, modes)
            by_subtask.append((model, part["skill"], name, *scores, best))
    return [
        captioned("skills", by_rule, [*skills, "overall"]),
        captioned("skills_by_strategy", by_mode, [*skills, "cases", "USD", "USD per case"]),
        captioned("skills_by_subtask", by_subtask, [*modes, "best"]),
    ]


def skills_of(analysis: Mapping[str, Any]) -> list[str]:
    """Return the skills of all models: TReB's in their order, then others."""
    names = all_keys(model_scores["skills"][BEST_SUBTASK] for model_scores in analysis.values())
    order = ("NLU", *_SKILLS)
    return sorted(names, key=lambda skill: order.index(skill) if skill in order else len(order))


def treb_leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the models by each rule, then the published rows; None without a skill of tables."""
    rows: list[Noted] = []
    by_model = _rows_of(runs, BENCHMARK)
    for model, model_scores in skill_analysis(runs, BENCHMARK).items():
        if not _SKILLS.keys() & model_scores["skills"][BEST_SUBTASK].keys():
            continue
        for rule in RULES:
            scores = map(model_scores["skills"][rule].get, _SKILLS)
            note = "; ".join(_notes(model_scores, by_model[model])) if rule == RULES[0] else ""
            row = (model, f"this run: {rule}", *scores, model_scores["overall"][rule])
            rows.append((row, note))
    figures = (*(skill["column"] for skill in _SKILLS.values()), "overall")
    others = (
        (line["model"], f"published {line['date']}", *shares(line[name] for name in figures))
        for line in published("treb_leaderboard")
    )
    names = {model: model for model in by_model}
    columns = (*_SKILLS, "overall")
    return beside_published(
        "treb_leaderboard", columns, rows, others, names=names, headline=columns[-1:]
    )


def _notes(model_scores: Mapping[str, Any], rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield how a model's figures differ from published ones, one clause each."""
    counts = Counter(subtask["skill"] for subtask in model_scores["subtasks"].values())
    fewer = [
        f"{name} {counts[name]} of {skill['subtasks']}"
        for name, skill in _SKILLS.items()
        if counts[name] < skill["subtasks"]
    ]
    if fewer:
        yield caveat(BENCHMARK, "subtasks", names=", ".join(fewer))
    scored = [row for row in rows if row.score is not None and row.tags.get(TAG) in _SKILLS]
    unjudged = sum(_JUDGED not in row.parts for row in scored)
    if unjudged:
        yield caveat(BENCHMARK, "unjudged", unjudged=unjudged, scored=len(scored))
    yield caveat(BENCHMARK, "modes", names=", ".join(model_scores["modes"]))
