"""Scores by skill as tables and as a radar plot, and runs with TReB's published rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers._published import (
    Noted,
    beside_published,
    published,
    shares,
)
from pytest_tablebench.papers.analyses import BEST_SUBTASK, RULES, by_skill
from pytest_tablebench.papers.canvas import MARKERS, colour, labelled, legend, size
from pytest_tablebench.papers.entries import all_keys
from pytest_tablebench.papers.text import PaperTable, Value
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.util.names import tied

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BENCHMARK = "treb"
_SKILLS = {
    "TU": ("table_understanding", 6),
    "TBO": ("table_basic_operation", 2),
    "TCO": ("table_computational_operation", 2),
    "DA": ("data_analysis", 4),
    "ADA": ("advanced_data_analysis", 6),
}
"""TReB's skills of tables: their columns in the published rows, and how many subtasks they have."""

_JUDGED = "llm_score"
_CITATION = (
    'published: the leaderboard of "TReB: A Comprehensive Benchmark for Evaluating Table Reasoning '
    'Capabilities of Large Language Models", arXiv 2506.18421; marks of a judge, of 100 there, as '
    "shares here; overall is the plain mean of the five skills"
)
_CAVEATS = (
    "published rows count the best of TCoT, PoT and ICoT, without saying whether by subtask or by "
    "skill, so the rows of runs are shown by each rule",
    "they were measured on a test set whose answers are not public, by a judge that is not named",
)


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
    skills = _skills_of(analysis)
    modes = all_keys(model_scores["modes"] for model_scores in analysis.values())
    by_rule: list[tuple[Value, ...]] = []
    by_mode: list[tuple[Value, ...]] = []
    by_subtask: list[tuple[Value, ...]] = []
    for model, model_scores in analysis.items():
        for rule in RULES:
            shown = map(model_scores["skills"][rule].get, skills)
            by_rule.append((model, rule, *shown, model_scores["overall"][rule]))
        for mode, subtask in model_scores["modes"].items():
            price = subtask["cases"], subtask["cost_usd"], subtask["cost_per_case"]
            by_mode.append((model, mode, *map(subtask["skills"].get, skills), *price))
        for name, subtask in model_scores["subtasks"].items():
            best = tied(subtask["best_modes"], "strategy") if subtask["best_modes"] else "-"
            scores = map(subtask["modes"].get, modes)
            by_subtask.append((model, subtask["skill"], name, *scores, best))
    return [
        PaperTable(
            "skills",
            "Scores by skill",
            ("model", "counted", *skills, "overall"),
            tuple(by_rule),
            notes=("a mode is a strategy, with all serializers by which it was asked",),
        ),
        PaperTable(
            "skills_by_strategy",
            "Scores and price by strategy",
            ("model", "strategy", *skills, "cases", "USD", "USD per case"),
            tuple(by_mode),
            notes=(
                "a strategy's score of a skill is over the subtasks it was asked",
                "the price is for the model under test, without a judge",
            ),
        ),
        PaperTable(
            "skills_by_subtask",
            "Scores by subtask and strategy",
            ("model", "skill", "subtask", *modes, "best"),
            tuple(by_subtask),
            shown=False,
        ),
    ]


def _skills_of(analysis: Mapping[str, Any]) -> list[str]:
    """Return the skills of all models: TReB's in their order, then others."""
    skill_names = all_keys(
        model_scores["skills"][BEST_SUBTASK] for model_scores in analysis.values()
    )
    order = ("NLU", *_SKILLS)
    return sorted(
        skill_names, key=lambda skill: order.index(skill) if skill in order else len(order)
    )


# The figure


def skill_radar(figure: Figure, analysis: Mapping[str, Any]) -> bool:
    """Draw a line for each model around its skills; return False for fewer than three skills."""
    by_model = analysis.get("skills") or {}
    skills = _skills_of(by_model)
    if len(skills) < 3:
        return False
    angles = [2 * math.pi * place / len(skills) for place in range(len(skills))]
    size(figure, 6.6, 4.8)
    axes = figure.add_subplot(projection="polar")
    for number, ((_, model_scores), label) in enumerate(
        zip(by_model.items(), labelled(list(by_model)), strict=True)
    ):
        values = [model_scores["skills"][BEST_SUBTASK].get(skill) for skill in skills]
        points = [math.nan if value is None else value for value in values]
        axes.plot(
            [*angles, angles[0]],
            [*points, points[0]],
            marker=MARKERS[number % len(MARKERS)],
            color=colour(number),
            label=label,
            markersize=4,
        )
    axes.set_xticks(angles, labelled(skills))
    axes.set_ylim(0, 1)
    axes.set_title("Scores by skill, best mode of each subtask")
    legend(figure, axes, len(by_model), "model")
    return True


# The leaderboard


def treb_leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the models by each rule, then the published rows; None without a skill of tables."""
    rows: list[Noted] = []
    by_model = _rows_of(runs, BENCHMARK)
    for model, model_scores in skill_analysis(runs, BENCHMARK).items():
        if not _SKILLS.keys() & model_scores["skills"][BEST_SUBTASK].keys():
            continue
        for rule in RULES:
            scores = model_scores["skills"][rule]
            shown = (scores.get(skill) for skill in _SKILLS)
            note = "; ".join(_notes(model_scores, by_model[model])) if rule == RULES[0] else ""
            rows.append(((model, f"this run: {rule}", *shown, model_scores["overall"][rule]), note))
    figures = (*(column for column, _ in _SKILLS.values()), "overall")
    return beside_published(
        "treb_leaderboard",
        "TReB leaderboard (layout of the published page)",
        ("model", "source", *_SKILLS, "overall"),
        own_rows=rows,
        others=(
            (line["model"], f"published {line['date']}", *shares(line[name] for name in figures))
            for line in published("treb_leaderboard")
        ),
        notes=(_CITATION, *_CAVEATS),
        names={model: model for model in by_model},
        headline=("overall",),
    )


def _notes(model_scores: Mapping[str, Any], rows: Sequence[RunRow]) -> list[str]:
    """Return how a model's figures differ from published ones, one clause each."""
    counts = Counter(subtask["skill"] for subtask in model_scores["subtasks"].values())
    fewer = [
        f"{skill} {counts[skill]} of {whole}"
        for skill, (_, whole) in _SKILLS.items()
        if counts[skill] < whole
    ]
    notes = [f"subtasks: {', '.join(fewer)}"] if fewer else []
    scored = [row for row in rows if row.score is not None and row.tags.get("skill") in _SKILLS]
    unjudged = sum(_JUDGED not in row.parts for row in scored)
    if unjudged:
        notes.append(f"{unjudged} of {len(scored)} scores are not a judge's")
    return [*notes, f"modes: {', '.join(model_scores['modes'])}"]
