"""RealHiTBench: reading, prompts in both compat modes, tags, and rows that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import AnswerPlace, asked_dataset
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.realhitbench._prompts import form_of, instruction, reminder
from pytest_tablebench.errors import DataMissing
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Image, images_of
from pytest_tablebench.serializers.picture import squared
from pytest_tablebench.strategies import Task
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.tokens import count_tokens, tokenizer_name
from tests.support.realhit_files import question, write_folder
from tests.support.slices import needs_slices, runner

Opened = Callable[..., Runner]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    write_folder(tmp_path)

    def runner(compat: Compat = "fixed", structure: Any = "both") -> Runner:
        settings = Settings(data=tmp_path, compat=compat, structure=structure)
        return Runner(settings, builtin_registry())

    return runner


def prompt_of(runner: Runner, dataset: str, example_id: str, perturbation: str = "none") -> str:
    case = Case(dataset, example_id, "latex", perturbation, "m", "id")
    prompt = runner.renderer.task(case).prompt
    assert isinstance(prompt, str)
    return prompt


def test_a_question_has_its_table_its_answer_and_its_tags(opened: Opened) -> None:
    found = opened().source("realhit_fc")
    example = found.example("1")
    assert example.references == ("3",)
    assert example.inputs["table"].path(0, 1).column == ("Visitors", "2001")
    assert example.tags == {
        "domain": "travel",
        "source": "data.gov",
        "structure": "ColumnHeaderMerge",
        "subtype": "Value-Matching",
        "size": "0-25%",
        "tokens": "<10K",
    }
    odd = found.example("7").tags
    assert (odd["structure"], odd["subtype"]) == ("BackgroundColor", "Non-adverse, Adverse")


def test_rows_that_cannot_be_used_are_named(opened: Opened) -> None:
    found = opened().source("realhit_fc")
    assert found.example_ids(None) == ["1", "7"]
    lost, outside = map(str, found.problems)
    assert lost.startswith("data/QA_final.json, row 5, field 'FileName': no file in html or tables")
    assert "leads out of" in outside


@pytest.mark.parametrize("name", ["realhitbench", "realhitbench/data"])
def test_a_data_folder_that_is_a_link_is_read(opened: Opened, tmp_path: Path, name: str) -> None:
    folder, place = tmp_path / name, tmp_path / "elsewhere"
    folder.rename(place)
    folder.symlink_to(place, target_is_directory=True)
    source = opened().source("realhit_fc")
    assert source.example_ids(None) == ["1", "7"]
    assert any("leads out of" in str(problem) for problem in source.problems)


def test_fixed_serializes_tables_and_reference_sends_upstreams_files(opened: Opened) -> None:
    written, sent = (prompt_of(opened(mode), "realhit_fc", "1") for mode in ("fixed", "reference"))
    assert "\\multicolumn{2}{l}{Visitors}" in written
    assert "Table:\nupstream's travel-table01\n\nQuestion: How many came to Oslo" in sent
    # Upstream has no file of a perturbed table.
    assert "Visitors" in prompt_of(opened("reference"), "realhit_fc", "1", "shuffle_rows")


@pytest.mark.parametrize(
    ("compat", "note"),
    [
        ("fixed", "unperturbed tables are sent as this package writes them"),
        ("reference", "unperturbed tables are sent as upstream's own files"),
    ],
)
def test_a_run_records_the_format_of_tables_and_the_tokenizer(
    opened: Opened, compat: Compat, note: str
) -> None:
    sent, counted = opened(compat).source("realhit_fc").facts.notes
    assert sent == note
    assert counted.endswith(f"tokens counted by {tokenizer_name()}")


def test_a_structure_case_asks_two_questions(opened: Opened) -> None:
    run = opened()
    task = run.renderer.task(Case("realhit_sc", "3", "csv", "none", "m", "id"))
    first, second = task.versions
    assert ('"Oslo","3","4"' in first.prompt, '"Oslo","30","4"' in second.prompt) == (True, True)
    assert task.prompt == f"{first.prompt}\n\n{second.prompt}"
    assert task.example.references == ("3",)
    assert task.example.context == {
        "structure": "both", "question": "How many came to Oslo in 2001?", "decimal_comma": False,
    }  # fmt: skip
    assert run.source("realhit_sc").example_ids(None) == ["3"]
    [problem] = run.source("realhit_sc").problems
    assert "row 4, field 'Question': has no gold answer" in str(problem)


def test_only_consistency_needs_no_gold_answer(opened: Opened) -> None:
    found = opened(structure="self").source("realhit_sc")
    assert found.example_ids(None) == ["3", "4"]
    assert found.example("4").references == ()


def test_structure_rows_are_tagged_with_their_original_sub_type(
    tmp_path: Path, opened: Opened
) -> None:
    row = question(1, "How many came to Oslo in 2001? ", "", SubQType="Value-Matching")
    file = tmp_path / "realhitbench/data/QA_structure.json"
    file.write_text(
        json.dumps({"queries": [row | {"QuestionType": "Structure Comprehending"}]}), "utf-8"
    )
    assert opened().source("realhit_sc").example("3").tags["subtype"] == "Value-Matching"


def test_a_chart_is_drawn_from_the_table_in_the_prompt(tmp_path: Path, opened: Opened) -> None:
    run = opened()
    plain = run.renderer.task(Case("realhit_cg", "8", "csv", "none", "m", "id")).example
    book = (tmp_path / "realhitbench/data/tables/travel-table02.xlsx").read_bytes()
    assert plain.context["table"].read("table.xlsx") == book
    assert (plain.context["chart_type"], plain.references) == (
        "BarChart Generation",
        ("[3.5, 4]\n",),
    )
    task = run.renderer.task(Case("realhit_cg", "8", "csv", "transpose", "m", "id"))
    file = tmp_path / "changed.xlsx"
    file.write_bytes(task.example.context["table"].read("table.xlsx"))
    assert (
        Table.from_xlsx(file, structure=True, marks=False).lines
        == task.example.inputs["table"].lines
    )
    assert "table.xlsx" in task.prompt
    assert run.source("realhit_cg").example_ids(None) == ["8"]
    [problem] = run.source("realhit_cg").problems
    assert "row 8, field 'FileName': no workbook in tables for 'travel-table01'" in str(problem)


@pytest.mark.parametrize("way", ["line", "object", "printed", "box"])
def test_the_prompt_asks_for_no_marker_if_the_strategy_places_the_answer(
    opened: Opened, way: AnswerPlace
) -> None:
    run = opened()
    example = run.source("realhit_fc").example("1")
    parts = asked_dataset(run.registry.datasets["realhit_fc"], way).prompt(example, lambda _: "T")
    assert "Final Answer" not in parts.instruction + parts.source
    assert parts.source == "Table:\nT\n\nQuestion: How many came to Oslo in 2001?"
    program = asked_dataset(run.registry.datasets["realhit_cg"], way)
    assert program.form.judged == "reply"


def test_long_tables_are_separate_datasets_whose_files_are_optional(opened: Opened) -> None:
    with pytest.raises(DataMissing, match=r"lacks data/QA_long\.json; get it with: tableb"):
        opened().source("realhit_fc_long")
    assert builtin_registry().datasets["realhit_fc_long"].benchmark == "realhitbench_long"


@pytest.mark.parametrize(
    ("kind", "subtype", "line"),
    [
        ("Fact Checking", "Counting", "[Final Answer]: AnswerName1, AnswerName2, ..."),
        ("Data Analysis", "Summary Analysis", "[Final Answer]: the summary"),
        ("Data Analysis", "", "[Final Answer]: AnswerName1, AnswerName2, ..."),
        (
            "Data Analysis",
            "Exploratory Analysis",
            "[Final Answer]: CorrelationRelation, CorrelationCoefficient",
        ),
    ],
)
def test_the_answer_format_is_that_of_the_type_or_the_sub_type(
    kind: str, subtype: str, line: str
) -> None:
    form = form_of(kind, subtype)
    assert f"- The end of your reply is: {line}" in instruction(form)
    assert reminder(form, "fixed") == f"End your reply with: {line}"


def test_the_published_reminder_contradicts_the_format_of_summaries() -> None:
    form = form_of("Data Analysis", "Summary Analysis")
    assert reminder(form, "reference").endswith("[Final Answer]: AnswerName1, AnswerName2, ...")


def test_the_datasets_declare_a_larger_token_limit(opened: Opened) -> None:
    params = opened().axes.params("realhit_nr")
    assert (params["temperature"], params["max_tokens"]) == (0, 4096)


def test_tokens_are_counted_without_a_network() -> None:
    assert tokenizer_name() == "cl100k_base (tiktoken)"
    assert count_tokens(b"hello world") == 2


@needs_slices("realhitbench")
def test_the_slice_is_read_completely() -> None:
    names = ("realhit_fc", "realhit_nr", "realhit_da", "realhit_sc", "realhit_cg")
    found = {name: runner().source(name) for name in names}
    counts = {name: len(one.example_ids(None)) for name, one in found.items()}
    assert list(counts.values()) == [81, 44, 36, 13, 9]
    assert not any(one.problems for one in found.values())


def task_of(runner: Runner, example_id: str, **case: str) -> Task:
    given: dict[str, Any] = {
        "dataset": "realhit_fc",
        "serializer": "latex",
        "perturbation": "none",
    } | case
    return runner.renderer.task(Case(example_id=example_id, model="m", case_id="id", **given))


def test_the_mode_reference_asks_in_the_published_three_turns(opened: Opened) -> None:
    task = task_of(opened("reference"), "1")
    first, canned, last = task.messages
    assert [one.role for one in task.messages] == ["user", "assistant", "user"]
    assert "csv format" in canned.content
    assert isinstance(first.content, str)
    assert isinstance(last.content, str)
    assert first.content.startswith("You are an expert")
    assert "Oslo" not in first.content
    assert last.content.startswith("Table:\nupstream's travel-table01\n\nQuestion: How many came")
    assert last.content.rstrip().endswith("[Final Answer]: AnswerName1, AnswerName2, ...")
    # Strategies with several turns get the whole prompt as one text.
    assert task.prompt == f"{first.content}\n{last.content}"
    assert [one.role for one in task_of(opened(), "1").messages] == ["user"]
    tree = task_of(opened("reference"), "8", dataset="realhit_cg", strategy="treethinker")
    assert [one.role for one in tree.messages] == ["user"]


@pytest.mark.parametrize(("serializer", "modality"), [("image", "image"), ("csv", "image_text")])
def test_the_mode_reference_sends_one_message_that_ends_with_the_picture(
    opened: Opened, serializer: str, modality: str
) -> None:
    [message] = task_of(opened("reference"), "1", serializer=serializer, modality=modality).messages
    assert isinstance(message.content, tuple)
    *parts, picture = message.content
    assert isinstance(picture, Image)
    texts = [part for part in parts if isinstance(part, str)]
    assert texts == parts
    assert "".join(texts).startswith("You are an expert")
    assert "Question: How many came to Oslo" in texts[-1]


def test_both_tables_of_a_structure_question_are_sent_in_three_turns(opened: Opened) -> None:
    task = task_of(opened("reference"), "3", dataset="realhit_sc")
    assert [len(one.messages) for one in task.versions] == [3, 3]
    assert task.prompt.count("[assistant]\n") == 2


def test_the_picture_is_distorted_like_upstreams_on_request(opened: Opened, tmp_path: Path) -> None:
    own = serialize(Table(["a", "b", "c"], [["1", "2", "3"]]), "image")
    folder = tmp_path / "realhitbench" / "data" / "image"
    folder.mkdir(exist_ok=True)
    (folder / "travel-table01.png").write_bytes(own)
    for name, shown in (
        ("image", Image("image/png", own)),
        ("image_square", squared(Image("image/png", own))),
    ):
        task = task_of(opened("reference"), "1", serializer=name, modality="image")
        assert images_of(task.prompt) == (shown,)
