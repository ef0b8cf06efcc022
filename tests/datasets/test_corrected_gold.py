"""The gold of an example is replaced by the answers of a correction."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.datasets import AskedDataset, Example, asked_dataset
from pytest_tablebench.datasets.answers import NotCorrectableError, answer_context, with_answers
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.scorer import Scorer
from pytest_tablebench.tables.table import Table

TABLE = Table(["Name", "Age", "Since"], [["Ada", "36", "2020-03-02"], ["Bo", "41", "n/a"]])


REGISTRY = builtin_registry()


def example(*references: str, metric: str | None = None, **context: Any) -> Example:
    inputs = {"question": "Which?", "table": TABLE}
    return Example("e", inputs, "Which?", references, references[0], context, metric=metric)


def score(form: AskedDataset, reply: str, changed: Example) -> float:
    scored = Scorer(REGISTRY).score(form.for_example(changed), changed, reply).score
    assert scored is not None
    return scored.value


@pytest.mark.parametrize(
    ("dataset", "context", "answers", "right", "wrong"),
    [
        ("wikitq", {"table": TABLE, "question": "Which?"}, ["Ada", "Bo"], "Bo, Ada", "Ada"),
        ("starter", {"aliases": {"36": ["thirty-six"]}}, ["41"], "41", "thirty-six"),
        ("tabfact", {}, ["refuted"], "refuted", "entailed"),
        (
            "turl_cta",
            {"vocabulary": "a, b"},
            ["people.person", "film.actor"],
            "people.person, film.actor",
            "x",
        ),
        ("tablebench_fc", {}, ["41", "Bo"], "Final Answer: Bo", "Final Answer: 36"),
        ("tablebench_nr", {}, ["41"], "Final Answer: 41", "Final Answer: 36"),
    ],
)
def test_the_metric_of_the_dataset_scores_the_new_answers(
    dataset: str,
    context: dict[str, Any],
    answers: list[str],
    right: str,
    wrong: str,
) -> None:
    form = asked_dataset(REGISTRY.datasets[dataset], "reply")
    changed = with_answers(form, example("36", **context), answers)
    assert score(form, right, changed) == 1
    assert score(form, wrong, changed) < 1


@pytest.mark.parametrize(
    ("before", "answers", "kind", "right", "wrong"),
    [
        (["36"], ["41"], "number", "41.0", "36"),
        (["36"], ["n/a"], "text", "N/A", "36"),
        (["36"], ["Ada", "Bo"], "list", "Bo, Ada", "Ada"),
        (["Ada", "Bo"], ["Ada"], "text", "Ada", "Ada, Bo"),
        (["n/a"], ["2020-03-02"], "date", "March 2, 2020", "n/a"),
    ],
)
def test_a_typed_answer_gets_the_kind_of_the_new_answers(
    before: list[str],
    answers: list[str],
    kind: str,
    right: str,
    wrong: str,
) -> None:
    form = asked_dataset(REGISTRY.datasets["starter_skills"], "reply")
    context = answer_context([TABLE], before, metric=None, tolerance=None, unit=None)
    changed = with_answers(form, example(*before, **context), answers)
    assert changed.context["kind"] == kind
    assert score(form, right, changed) == 1
    assert score(form, wrong, changed) == 0


def test_entries_that_the_dataset_states_stay() -> None:
    form = asked_dataset(REGISTRY.datasets["starter_skills"], "reply")
    stated = answer_context([TABLE], ["36"], metric="text", tolerance="2%", unit="years")
    changed = with_answers(form, example("36", **stated), ["41"])
    assert (changed.context["kind"], changed.context["unit"]) == ("text", "years")
    assert changed.context["tolerance"] == "2%"


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        ("finqa", "its gold is a program"),
        ("tablebench_viz", "its gold is a chart"),
        ("realhit_cg", "its gold is a chart"),
    ],
)
def test_structured_gold_cannot_be_replaced(dataset: str, reason: str) -> None:
    form = asked_dataset(REGISTRY.datasets[dataset], "reply")
    with pytest.raises(NotCorrectableError, match=reason):
        with_answers(form, example("36"), ["41"])
    with pytest.raises(NotCorrectableError, match="its gold is a list of facts"):
        with_answers(form, example("36", metric="facts"), ["41"])


@pytest.mark.parametrize(
    ("answer", "right"), [("12.5%", "0.125"), ("1,200", "1200"), ("Yes", "yes"), ("no", "no")]
)
def test_the_value_of_a_finqa_program_can_be_replaced(answer: str, right: str) -> None:
    form = asked_dataset(REGISTRY.datasets["finqa"], "printed")
    published = example("add(1, 2)", table=TABLE, answer="3", exe_ans=3.0)
    assert score(form, right, with_answers(form, published, [answer])) == 1
    assert score(form, "3", with_answers(form, published, [answer])) == 0
    with pytest.raises(NotCorrectableError, match="the corrected answer is no number"):
        with_answers(form, published, ["many"])
