"""Perturbations that are given a whole question, in prompts, scores and scores taken again."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import AskedDataset, Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.documents.formats import memory_lines
from pytest_tablebench.errors import TableError
from pytest_tablebench.metrics import Metric, Score, score
from pytest_tablebench.running._rendering import Renderer
from pytest_tablebench.running.builtins import builtin_registry, registry_with
from pytest_tablebench.running.perturbing import example_perturber
from pytest_tablebench.running.scorer import Scorer, asked_by
from pytest_tablebench.serializers.content import text_of
from pytest_tablebench.tables.perturbations import PERTURBATIONS
from pytest_tablebench.tables.table import Table

SOURCE = Starter().open(Path())
LOOKUP = "fin-01-lookup-1"


def prompt(perturbation: str, example_id: str = LOOKUP, shots: int = 1) -> tuple[Example, str]:
    renderer = Renderer(Settings(), builtin_registry(), lambda _: SOURCE, lambda _: shots)
    case = Case("starter", example_id, "csv", perturbation, "m", "id")
    task = renderer.task(case)
    example, content = task.example, task.prompt
    return example, text_of(content)


def changed(example: Example, perturbation: str) -> Example:
    change = example_perturber(PERTURBATIONS, perturbation, 0)
    assert change is not None
    return change(example)


def made(**fields: object) -> Example:
    table = Table(["City", "Mayor", "People"], [["Lund", "Ann Berg", "91000"], ["Bo", "Cy", "7"]])
    given = {
        "id": "one",
        "inputs": {"question": "Who?", "table": table},
        "question": "Who?",
        "references": ("Ann Berg",),
        "target": "It is Ann Berg.",
        "context": {"tolerance": 0.5},
    }
    return Example(**{**given, **fields})  # type: ignore[arg-type]


def test_tables_answers_target_and_context_change_together() -> None:
    plain = made()
    example = changed(plain, "counterfactual")
    [new] = example.references
    assert new != "Ann Berg"
    assert example.target == f"It is {new}."
    assert example.inputs["table"].rows[0] == ("Lund", new, "91000")
    assert example.former is plain
    beside = made(context={"table": plain.inputs["table"]}, inputs=plain.inputs)
    assert changed(beside, "counterfactual").context["table"] == example.inputs["table"]
    numbers = made(references=("91000",), target="91000", context={"answer": "91000"})
    written = changed(numbers, "number_format")
    assert written.references == ("91,000",)
    assert (written.target, written.context) == ("91,000", {"answer": "91,000"})
    assert written.former is None  # it means the same
    assert numbers.references == ("91000",)


def test_a_metric_that_knows_the_answer_in_another_way_keeps_it() -> None:
    with pytest.raises(TableError, match="is in the question too"):
        changed(made(context={"remark": "not Ann Berg"}), "counterfactual")


def test_aliases_of_a_counterfactual_answer_are_dropped() -> None:
    aliases = {"Ann Berg": ("A. Berg",), "Cy": ("Cyrus",)}
    example = changed(made(context={"aliases": aliases}), "counterfactual")
    assert example.context == {"aliases": {"Cy": ("Cyrus",)}}
    assert example.references != ("Ann Berg",)
    with pytest.raises(TableError, match="an alias in the table"):
        changed(made(context={"aliases": {"Ann Berg": ("Cy",)}}), "counterfactual")


def test_aliases_stay_with_a_number_that_is_written_otherwise() -> None:
    example = made(references=("91000",), target="91000", context={"aliases": {"91000": ("many",)}})
    written = changed(example, "number_format")
    assert written.references == ("91,000",)
    assert written.context == {"aliases": {"91,000": ("many",)}}


def distances(**fields: object) -> Example:
    table = Table(["Road", "Length (km)"], [["A", "30"], ["B", "12"], ["C", "2"]])
    given = {"inputs": {"question": "How long is A?", "table": table}, "references": ("30",)}
    return made(**{**given, "question": "How long is A?", "target": "30", **fields})


def test_unit_and_tolerance_change_with_the_column() -> None:
    context = {"unit": "km", "tolerance": "0.5", "kind": "number"}
    example = changed(distances(context=context), "change_units")
    assert example.inputs["table"].header == ("Road", "Length (m)")
    assert (example.references, example.target) == (("30000",), "30000")
    assert example.context == {"unit": "m", "tolerance": "500", "kind": "number"}
    # What a model would say of the new table is right, and the same number of the old unit is not.
    for reply, value in (("30000 m", 1.0), ("30400 m", 1.0), ("30600 m", 0.0), ("30000 km", 0.0)):
        assert score("typed_answer", reply, example.references, **example.context).value == value
    shares = changed(distances(context={**context, "tolerance": "2%"}), "change_units")
    assert shares.context["tolerance"] == "2%"


@pytest.mark.parametrize(
    "context", [{"unit": "miles"}, {"unit": "km", "aliases": {"30": ("thirty", "18.6 miles")}}]
)
def test_a_unit_that_cannot_be_converted_leaves_the_question(context: dict[str, object]) -> None:
    plain = distances(context=context)
    assert changed(plain, "change_units") == plain


def test_each_item_of_a_demonstration_is_converted_once() -> None:
    plain = distances(references=("12", "2"), target="12, 2", context={"unit": "km"})
    example = changed(plain, "change_units")
    assert example.references == ("12000", "2000")
    assert example.target == "12000, 2000"


def test_the_prompt_shows_the_new_cell_and_demonstrations_go_on() -> None:
    plain, _ = prompt("none")
    example, text = prompt("counterfactual")
    [new], [old] = example.references, plain.references
    assert new in text
    assert old not in text
    assert text.count("Question:") == 2


def test_without_a_table_question_and_demonstrations_stay() -> None:
    example, text = prompt("no_table")
    assert "Lakeshore Creamery?" in text
    assert text.count("Question:") == 2
    assert "Halden Foods" not in text
    assert example.references == ("1969",)


@pytest.mark.parametrize(("reply", "score", "memory"), [("old", 0, 1), ("new", 1, 0), ("?", 0, 0)])
def test_the_former_answer_is_a_part_of_the_score(reply: str, score: int, memory: int) -> None:
    plain = SOURCE.example(LOOKUP)
    example = changed(plain, "counterfactual")
    said = {"old": plain.references[0], "new": example.references[0]}.get(reply, reply)
    scorer, form = Scorer(builtin_registry()), AskedDataset(Starter())
    judged = scorer.score(form, example, said)
    assert judged.score is not None
    assert (judged.score.value, judged.score.parts["memory"]) == (score, memory)
    usual = scorer.score(form, plain, said)
    assert usual.score is not None
    assert "memory" not in usual.score.parts
    assert elsewhere(said, example) == judged.score
    # What cannot be sent is scored here.
    lone = replace(plain, context={**plain.context, "told": lambda: None})
    assert elsewhere(said, lone, exact) == Score(float(said == plain.references[0]))


def exact(prediction: str, references: Sequence[str], **_: object) -> Score:
    return Score(float(prediction == references[0]))


def elsewhere(said: str, example: Example, metric: Metric | None = None) -> Score:
    """The score of a conversation whose steps are done as another process does them."""
    registry = registry_with(None)
    own = asked_by(registry, "starter", "direct")
    if metric is not None:
        registry.metrics[str(own.metric)] = metric
    conversation = Scorer(registry).graded(own, example, said)
    try:
        step = next(conversation)
        while True:
            prediction, references, context = pickle.loads(step.arguments)
            step = conversation.send(
                score(step.metric, prediction, references, metrics=registry.metrics, **context)
            )
    except StopIteration as end:
        return end.value


def record(
    example: str, perturbation: str, score: float | None, **parts: float
) -> dict[str, object]:
    return {
        "model": "m",
        "benchmark": "b",
        "dataset": "d",
        "example_id": example,
        "serializer": "csv",
        "perturbation": perturbation,
        "score": score,
        "passed": None if score is None else score >= 1,
        "parts": parts,
        "preserves_meaning": perturbation == "none",
    }


def test_what_is_known_without_the_table_is_a_figure_and_a_line() -> None:
    # By hand: 1 of 3 answers without a table is right; of 2 answers after the change 1 is the
    # former one; e4 has no answer there.
    records = [record(f"e{n}", "none", 1.0) for n in range(5)]
    records += [record(f"e{n}", "no_table", float(n == 0)) for n in range(3)]
    changed = "counterfactual"
    records += [record("e0", changed, 0.0, memory=1.0), record("e1", changed, 1.0, memory=0.0)]
    records += [record("e4", changed, None)]
    scope = summarize(records)["benchmarks"]["b"]["datasets"]["d"]
    found = scope["memory"]
    assert found["no_table"]["share"] == pytest.approx(1 / 3)
    assert found["no_table"]["n_examples"] == 3
    assert found["counterfactual"]["share"] == 0.5
    assert found["counterfactual"]["n_examples"] == 2
    assert scope["performance"] == 1.0
    assert memory_lines("d", scope) == [
        "d: from memory, or guessed: 33.3 % of the answers are right without the table (3 "
        "examples); 50.0 % repeat the original answer after its cell was changed (2 examples)"
    ]
    plain = summarize(records[:5])["benchmarks"]["b"]
    assert "memory" not in plain
    assert memory_lines("d", plain) == []
