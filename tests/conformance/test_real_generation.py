"""NumericNLG, SciGen and QTSumm over real slices of the upstream files.

The slices are found, and skipped where absent, as in `test_real_data`.
"""

from __future__ import annotations

import pytest

from pytest_tablebench.datasets import Example
from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers import SERIALIZERS, serialize
from pytest_tablebench.tables.perturbations import GRID
from tests.support.slices import needs_slices, rendered, source

pytestmark = needs_slices()


# Counts and first rows, read off the files by hand.


def test_numericnlg_holds_68_tables() -> None:
    found = source("numericnlg")
    ids = found.example_ids(None)
    assert len(ids) == 68
    assert list(ids[:4]) == [
        "D16-1043table_4", "D16-1044table_4", "D16-1086table_1", "D16-1132table_3",
    ]  # fmt: skip
    example = found.example("D16-1043table_4")
    assert example.question == "Performance on maximally covered datasets."
    assert example.target.startswith("5.1 Maximum coverage comparison. Table 4 shows the results")
    table = example.inputs["table"]
    assert table.shape == (11, 13)
    assert table.header[:2] == ("", "Arch. || AlexNet || Agg. || Mean || Type/Eval || SL")
    assert table.rows[0][:3] == ("Source || Wikipedia || Text", "0.310", "0.682")
    assert len(found.pool) == 80
    assert not found.problems
    [note] = found.facts.notes
    assert "validation" in note


def test_scigen_holds_the_60_tables_of_its_cl_half() -> None:
    found = source("scigen")
    ids = found.example_ids(None)
    assert len(ids) == 60
    assert list(ids[:6]) == ["17", "24", "26", "27", "44", "56"]
    example = found.example("17")
    assert example.question.startswith("Table 4: Increasing the number of layers in SynST’s")
    assert "[CONTINUE] The final row of Table 4 shows" in example.target
    table = example.inputs["table"]
    assert table.header == ("# Layers", "Max Chunk Size", "Speedup", "BLEU")
    assert table.rows[0] == ("1", "[ITALIC] k=6", "3.8×", "23.82")
    assert len(found.pool) == 60
    assert not found.problems
    assert len(found.facts.notes) == 2


def test_qtsumm_holds_121_questions() -> None:
    found = source("qtsumm")
    ids = found.example_ids(None)
    assert len(ids) == 121
    assert ids[0] == "a835a9cd-8a9b-4ef5-a980-2ba3e5c4f7df"
    example = found.example(ids[0])
    assert example.question == (
        "What was the result of the game between Manchester United and Celtic?"
    )
    assert example.target.startswith("Manchester United faced Celtic on November 20, 1990.")
    table = example.inputs["table"]
    assert table.header == ("Date", "Opponents", "H / A", "Result F - A", "Attendance")
    assert table.rows[7] == ("20 November 1990", "Celtic", "H", "1 - 3", "41658")
    mapping = table.as_mapping()
    assert list(mapping) == ["header", "rows", "title", "table_id"]
    assert mapping["title"] == "1990 - 91 Manchester United F.C. Season"
    assert len(found.pool) == 62
    assert not found.problems
    assert not found.facts.notes


# The whole grid


@pytest.mark.parametrize(
    ("dataset", "examples"), [("numericnlg", 68), ("scigen", 60), ("qtsumm", 121)]
)
def test_every_example_renders_in_all_35_configurations(dataset: str, examples: int) -> None:
    found = source(dataset)
    refused: list[tuple[str, str, str]] = []
    done = 0
    for example_id in found.example_ids(None):
        for perturbation in GRID:
            for serializer in SERIALIZERS:
                try:
                    prompt = rendered(dataset, example_id, serializer, perturbation)
                except TableError:
                    refused.append((example_id, perturbation, serializer))
                else:
                    assert found.example(example_id).question in prompt
                    done += 1
    assert not refused  # no ragged table in the slices
    assert done == examples * 35


# Prompts, by their structure: spec torr.md sections 3.5 to 3.7

LAYOUTS = {
    "numericnlg": "table: \n{table} \ncaption: \n{text} \ndescription:\n",
    "scigen": "table: \n{table} \ncaption: \n{text} \ntext description:\n",
    "qtsumm": "Table:\n{table}\nQuery:\n{text}\nAnswer:\n",
}


@pytest.mark.parametrize("serializer", ["csv", "html", "json"])
@pytest.mark.parametrize("number", [0, 30, 59])
@pytest.mark.parametrize("dataset", LAYOUTS)
def test_parts_of_a_prompt(dataset: str, number: int, serializer: str) -> None:
    found = source(dataset)
    example_id = found.example_ids(None)[number]
    layout = LAYOUTS[dataset]

    def asked(item: Example) -> str:
        table = serialize(item.inputs["table"], serializer)
        return layout.format(table=table, text=item.question)

    prompt = rendered(dataset, example_id, serializer, "none")
    last = asked(found.example(example_id))
    assert prompt.endswith(last)
    before = prompt.removesuffix(last)
    shown = [
        f"{asked(item)}{item.target}\n\n"
        for item in (found.pool[index] for index in range(len(found.pool)))
    ]
    used = sorted((text for text in shown if text in before), key=before.index)
    assert len(used) == 5
    instruction = before[: before.index(used[0])]
    assert before == instruction + "".join(used)
    assert instruction.count("\n") == 2
