"""Prompts of --bench-prompts in RealHiTBench, TreeThinker and TReB."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.papers import PrintedPrompts
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import AnswerPlace, asked_dataset
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.treb.treb import DATASETS
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Reply
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.serializers.content import Image, images_of, text_of
from pytest_tablebench.strategies import Task
from pytest_tablebench.strategies._treethinker import TreeThinker
from tests.support.realhit_files import write_folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_folder(folder)
    return folder


QUESTION = "How many came to Oslo in 2001?"


def task_of(
    data: Path,
    texts: Mapping[str, str],
    dataset: str = "realhit_fc",
    *,
    strategy: str = "direct",
    modality: str = "text",
    compat: Compat = "fixed",
) -> Task:
    prompts = PrintedPrompts(data, MappingProxyType(dict(texts)))
    settings = Settings(data=data, compat=compat, prompts=prompts)
    runner = Runner(settings, builtin_registry())
    example = {"realhit_fc": "1", "realhit_da": "2"}[dataset]
    serializer = "csv" if modality == "text" else "image"
    case = Case(dataset, example, serializer, "none", "m", "id", 1, strategy, modality)
    return runner.renderer.task(case)


def test_a_prompt_without_placeholders_is_the_instruction(data: Path) -> None:
    ours, task = task_of(data, {}), task_of(data, {"fact_checking": "Be an expert in {{x}}."})
    assert isinstance(ours.prompt, str)
    _, table, source = ours.prompt.partition("Table:\n")
    assert task.prompt == f"Be an expert in {{x}}.\n{table}{source}"
    # A kind of question without a file keeps the built-in prompt.
    other = task_of(data, {"fact_checking": "Be."}, "realhit_da")
    assert other.prompt == task_of(data, {}, "realhit_da").prompt
    analysis = task_of(data, {"summary_analysis": "Be brief."}, "realhit_da")
    assert text_of(analysis.prompt).startswith("Be brief.\nTable:")


def test_a_prompt_with_placeholders_is_the_whole_prompt(data: Path) -> None:
    text = "T: {table}\nQ: {question}"
    for compat in ("fixed", "reference"):
        task = task_of(data, {"fact_checking": text}, compat=compat)
        assert [message.role for message in task.messages] == ["user"]
        assert text_of(task.prompt).startswith("T: ")
        assert text_of(task.prompt).rstrip().endswith(f"\nQ: {QUESTION}")
    picture = task_of(data, {"fact_checking": text}, modality="image").prompt
    assert len(images_of(picture)) == 1
    assert isinstance(picture, tuple)
    assert [type(part) for part in picture] == [str, Image, str]


def test_the_mode_reference_sends_a_printed_instruction_in_three_turns(data: Path) -> None:
    first, _, last = task_of(data, {"fact_checking": "Be."}, compat="reference").messages
    assert first.content == "Be."
    assert QUESTION in text_of(last.content)


def test_treethinker_uses_both_printed_prompts(data: Path) -> None:
    texts = {"treethinker_tree": "Draw {table} now.", "treethinker_fact_checking": "Do {question}!"}
    task = task_of(data, texts, strategy="treethinker")
    conversation = TreeThinker().converse(task)
    first = next(conversation)
    assert isinstance(first, Ask)
    [message] = first.messages
    table = text_of(task.shown(task.tables[0]))
    assert message.content == f"Draw {table} now."
    second = conversation.send(Reply("(C0, 1, 1, City)"))
    assert isinstance(second, Ask)
    assert second.messages[2].content == f"Do {QUESTION}!"
    # A variant keeps the built-in question and uses the printed prompt for the tree.
    conversation = TreeThinker().converse(task_of(data, texts, strategy="treethinker[align=rule]"))
    assert next(conversation) == first
    varied = conversation.send(Reply("(C0, 1, 1, City)"))
    assert isinstance(varied, Ask)
    assert "Do How" not in text_of(varied.messages[2].content)


@pytest.mark.parametrize(
    ("place", "name"), [("object", "tcot"), ("printed", "pot"), ("box", "icot")]
)
def test_modes_of_treb_have_a_printed_system_message(place: AnswerPlace, name: str) -> None:
    texts = {name: "Box it: \\boxed{answer}.", "table_summary": "Sum up."}
    by_name = {dataset.name: dataset for dataset in DATASETS}
    form = asked_dataset(by_name["treb_table_query"], place, texts).form
    ours = asked_dataset(by_name["treb_table_query"], place).form
    assert form.system == "Box it: \\boxed{answer}."
    assert form.remark == ours.remark != ""
    assert asked_dataset(by_name["treb_table_summary"], place, texts).form.system == "Sum up."
    plain = asked_dataset(by_name["treb_understanding"], place, texts).form
    assert plain == asked_dataset(by_name["treb_understanding"], place).form
    assert asked_dataset(by_name["treb_table_query"], "reply", texts).form.system is None
