"""Column type annotation: the corrected score, and files in TURL's layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import WrongAnswer, assert_label_f1, score
from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import text_key
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import DataError
from pytest_tablebench.running.answer import Answer
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.tables.table import Table
from tests.support.turl_files import TEST, TRAIN, cell, opened, row, turl

# Score


def parts(prediction: list[str], gold: list[str]) -> dict[str, float]:
    return dict(score("turl", prediction, [gold], vocabulary=["a", "b", "z"]).parts)


@pytest.mark.parametrize(
    ("prediction", "gold", "micro", "macro", "accuracy"),
    [
        (["a"], ["a"], 1.0, 1.0, 1.0),
        (["b", "a"], ["a", "b"], 1.0, 1.0, 0.0),  # order matters for accuracy only
        (["a", "a"], ["a"], 1.0, 1.0, 0.0),
        # One of three types is right: precision 1/3, recall 1; labels a 1, x 0, y 0.
        (["a", "x", "y"], ["a"], 0.5, 1 / 3, 0.0),
        # precision 1/2, recall 1/3; labels a 1, b 0, c 0, x 0.
        (["a", "x"], ["a", "b", "c"], 0.4, 0.25, 0.0),
        (["a", "", "b"], ["a", "b"], 1.0, 1.0, 0.0),  # two adjacent commas name no type
        ([""], ["a"], 0.0, 0.0, 0.0),
        (["the types are a"], ["a"], 0.0, 0.0, 0.0),
    ],
)
def test_every_predicted_type_counts(
    prediction: list[str], gold: list[str], micro: float, macro: float, accuracy: float
) -> None:
    expected = {"f1_micro": micro, "f1_macro": macro, "accuracy": accuracy}
    assert parts(prediction, gold) == pytest.approx(expected)


def test_a_batch_counts_over_all_columns() -> None:
    # TP a, b; FP x; FN b, c: 2*2 / (2*2 + 1 + 2). Labels: a 1, b 2/3, c 0, x 0.
    result = score("turl_batch", [["a"], ["b", "x"], [""]], [[["a", "b"]], [["b"]], [["c"]]])
    assert result.value == pytest.approx(4 / 7)
    assert result.parts["f1_macro"] == pytest.approx((1 + 2 / 3 + 0 + 0) / 4)
    assert result.parts["accuracy"] == 0.0


def test_an_empty_batch_scores_nothing() -> None:
    for compat in COMPAT_MODES:
        result = score("turl_batch", [], [], compat=compat)
        assert dict(result.parts) == {"f1_micro": 0.0, "f1_macro": 0.0, "accuracy": 0.0}


LABELS = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(LABELS, LABELS.filter(bool))
def test_micro_f1_equals_the_f1_of_two_sets(prediction: list[str], gold: list[str]) -> None:
    given_labels, wanted = set(prediction), set(gold)
    expected = 2 * len(given_labels & wanted) / (len(given_labels) + len(wanted))
    assert parts(prediction, gold)["f1_micro"] == pytest.approx(expected)
    lenient = score("turl", prediction, [gold], compat="reference").value
    assert lenient >= parts(prediction, gold)["f1_micro"]
    # The mode reference only ignores predicted types that are not expected.
    hits = given_labels & wanted
    assert lenient == pytest.approx(2 * len(hits) / (len(hits) + len(wanted)))


# Files


def table_of(folder: Path, content: list[Any], compat: Compat = "fixed") -> Table:
    source = opened(turl(folder, test=[content]), compat)
    table = source.example(source.example_ids(1)[0]).inputs["table"]
    assert isinstance(table, Table)
    return table


def test_each_column_is_an_example(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, test=[row(), row("7-2")], train=[row("8-1")]))
    assert list(source.example_ids(None)) == ["7-1-1", "7-1-2", "7-2-1", "7-2-2"]
    assert list(source.example_ids(3)) == ["7-1-1", "7-1-2", "7-2-1"]
    example = source.example("7-1-2")
    assert example.inputs == {
        "page_title": "page 7-1",
        "section_title": "the fleet",
        "table_caption": "ships of 1901",
        "table": Table(["Ship", "Captain"], [["Gull", "Ann"], ["Tern", ""], ["Skua", "Bo"]]),
        "vocab": ["boats.ship", "people.person", "boats.captain"],
        "colname": "Captain",
    }
    assert example.references == ("people.person, boats.captain",)
    assert example.target == "people.person, boats.captain"
    assert example.context == {"vocabulary": ["boats.ship", "people.person", "boats.captain"]}
    assert [source.pool[n].id for n in range(len(source.pool))] == ["8-1-1", "8-1-2"]
    assert not source.problems
    assert not source.facts.notes
    assert set(source.facts.files) == {TEST, TRAIN, "type_vocab.txt"}


def test_the_columns_of_a_table_share_the_object(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, test=[row()]))
    first, second = (source.example(name).inputs["table"] for name in ("7-1-1", "7-1-2"))
    assert first is second


def test_an_example_can_be_loaded_before_listing(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, test=[row(f"7-{n}") for n in range(5)]))
    assert source.example("7-3-2").inputs["page_title"] == "page 7-3"
    assert source.example_ids(2) == ["7-0-1", "7-0-2"]
    assert len(source.example_ids(None)) == 10
    with pytest.raises(DataError, match=r"test\.table_col_type\.json: no usable .* '7-9-1'"):
        source.example("7-9-1")


def test_the_mode_reference_counts_rows_at_the_ends_of_columns(tmp_path: Path) -> None:
    # The last entry of the first column does not have its largest row number, so the published
    # reader takes 2, from the second column, as the number of rows.
    content = row()
    content[6] = [
        [cell(3, 0, "Skua"), cell(0, 0, "Gull"), cell(1, 0, "Tern")], [cell(2, 1, "Bo")]
    ]  # fmt: skip
    assert table_of(tmp_path, content, "reference").rows == (("Gull", ""), ("Tern", ""))
    assert table_of(tmp_path, content).rows == (
        ("Gull", ""), ("Tern", ""), ("", "Bo"), ("Skua", ""),
    )  # fmt: skip


@pytest.mark.parametrize("compat", COMPAT_MODES)
def test_rows_without_text_are_dropped(tmp_path: Path, compat: Compat) -> None:
    content = row(rows=(("Gull", "Ann"), ("", ""), ("", ""), ("Tern", ""), ("Skua", "Bo")))
    content[6][0].insert(1, cell(1, 0, ""))
    kept = (("Gull", "Ann"), ("Tern", ""), ("Skua", "Bo"))
    assert table_of(tmp_path, content, compat).rows == kept[: 2 if compat == "reference" else 3]


def test_large_row_numbers_do_not_allocate_rows(tmp_path: Path) -> None:
    content = row()
    content[6][0].append(cell(10**15, 0, "far away"))
    assert table_of(tmp_path, content).rows[-1] == ("far away", "")
    assert len(table_of(tmp_path, content, "reference").rows) == 3


def test_tables_without_columns_or_with_empty_columns_are_read(tmp_path: Path) -> None:
    bare = row("7-1", (), (), ())
    empty = row("7-2", rows=())
    for compat in COMPAT_MODES:
        source = opened(turl(tmp_path, test=[bare, empty]), compat)
        assert list(source.example_ids(None)) == ["7-2-1", "7-2-2"]
        assert source.example("7-2-1").inputs["table"] == Table(["Ship", "Captain"], [])


def test_demonstrations_are_from_train_else_dev_else_the_test_file(tmp_path: Path) -> None:
    files: dict[str, Any] = {"test": [row()], "dev": [row("6-1")], "train": [row("5-1")]}
    expected = {"train": ("5-1-1", ""), "dev": ("6-1-1", "development"), "test": ("7-1-1", "test")}
    for split, (first, word) in expected.items():
        folder = turl(tmp_path / split, **files)
        files.pop(split)
        source = opened(folder)
        assert source.pool[0].id == first
        assert len(source.pool) == 2
        assert set(source.facts.files) == {TEST, f"{split}.table_col_type.json", "type_vocab.txt"}
        notes = source.facts.notes
        assert [word in note for note in notes] == ([True] if word else [])


@pytest.mark.parametrize("split", ["test", "train"])
def test_pool_keys_equal_those_of_the_loaded_items(tmp_path: Path, split: str) -> None:
    files: dict[str, Any] = {"test": [row()], split: [row(), row("7-2")]}
    source = opened(turl(tmp_path, **files))
    assert len(source.pool) == 4
    for index in range(4):
        assert source.pool.key(index) == text_key(source.pool[index])


def runner(folder: Path, **settings: Any) -> Runner:
    return Runner(Settings(data=folder, **settings), builtin_registry())


def prompt(
    run: Runner, example_id: str, serializer: str = "csv", perturbation: str = "none"
) -> str:
    case = Case("turl_cta", example_id, serializer, perturbation, "m", "id")
    text = run.renderer.task(case).prompt
    assert isinstance(text, str)
    return text


def test_the_whole_prompt_equals_the_published_one(tmp_path: Path) -> None:
    turl(tmp_path / "turl_cta", test=[row()], train=[row("8-1", types=(("boats.ship",), ("x.y",)))])
    text = prompt(runner(tmp_path, shots=1), "7-1-2")
    table = "Ship,Captain\nGull,Ann\nTern,\nSkua,Bo"

    def source(name: str, table_id: str) -> str:
        return (
            f"\nColumn name: {name}\n"
            f"Page Title: page {table_id} \n"
            "Section Title: the fleet \n"
            "Table caption: ships of 1901 \n"
            "Table: \n"
            f"{table} \n"
            f"Selected Column: {name} \n"
        )

    assert text.endswith(source("Captain", "7-1"))
    before = text.removesuffix(source("Captain", "7-1"))
    shown = {
        f"{source(name, '8-1')}{types}\n\n"
        for name, types in (("Ship", "boats.ship"), ("Captain", "x.y"))
    }
    [demonstration] = [one for one in shown if before.endswith(one)]
    instruction = before.removesuffix(demonstration)
    assert "boats.ship, people.person, boats.captain" in instruction
    words = instruction.lower()
    for word in ("column type annotation", "selected column", "page", "section", "caption"):
        assert word in words
    assert "output of the last" in words


def test_a_column_is_never_its_own_demonstration(tmp_path: Path) -> None:
    types = (("t.a",), ("t.b",), ("t.c",))
    content = row(headers=("a", "b", "c"), rows=(("1", "2", "3"),) * 3, types=types)
    turl(tmp_path / "turl_cta", test=[content])
    run = runner(tmp_path, shots=2)
    for name in "abc":
        example_id = f"7-1-{'abc'.index(name) + 1}"
        others = set("abc") - {name}
        text = prompt(run, example_id)
        assert {one for one in "abc" if f"\nt.{one}\n" in text} == others
    # Only two other columns exist, so a third demonstration is missing.
    assert prompt(runner(tmp_path, shots=3), "7-1-1") == prompt(run, "7-1-1")


def test_the_assertion_needs_exactly_the_expected_types(tmp_path: Path) -> None:
    turl(tmp_path / "turl_cta", test=[row()])
    run = runner(tmp_path, shots=0)

    case = run.start(Case("turl_cta", "7-1-2", "csv", "none", "m", "id"))
    case.example = run.source("turl_cta").example("7-1-2")
    right = Answer("Boats.captain,people.person\nbecause")
    assert_label_f1(case, right)
    assert case.judge(right) == 1.0
    # Two of three labels are expected and both expected are predicted: 2 * 2/3 * 1 / (2/3 + 1).
    with pytest.raises(WrongAnswer, match=r"(?s)Captain.*people\.person, boats\.captain.*0\.80"):
        assert_label_f1(case, Answer("people.person, boats.captain, boats.ship"))
    assert case.judge(Answer("people.person, boats.captain, boats.ship")) == pytest.approx(0.8)
