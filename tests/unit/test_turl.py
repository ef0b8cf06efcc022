"""Column type annotation: the corrected score, and reading files in TURL's layout."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import WrongAnswer, assert_label_f1, score, score_answer
from pytest_tablebench.cases import Case
from pytest_tablebench.compat import COMPAT_MODES, Compat
from pytest_tablebench.datasets import Source, text_key
from pytest_tablebench.datasets._streams import json_items
from pytest_tablebench.datasets.torr.turl_cta import TurlCTA
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.registry import builtin_registry
from pytest_tablebench.runner import Answer, Runner
from pytest_tablebench.settings import Settings
from pytest_tablebench.table import Table

TEST, DEV, TRAIN = (f"{split}.table_col_type.json" for split in ("test", "dev", "train"))

# The score


def parts(prediction: list[str], gold: list[str]) -> dict[str, float]:
    return dict(score("turl", prediction, [gold], vocabulary=["a", "b", "z"]).parts)


@pytest.mark.parametrize(
    ("prediction", "gold", "micro", "macro", "accuracy"),
    [
        (["a"], ["a"], 1.0, 1.0, 1.0),
        (["b", "a"], ["a", "b"], 1.0, 1.0, 0.0),  # order counts for accuracy alone
        (["a", "a"], ["a"], 1.0, 1.0, 0.0),
        # One right of three named: precision 1/3, recall 1; labels a 1, x 0, y 0.
        (["a", "x", "y"], ["a"], 0.5, 1 / 3, 0.0),
        # precision 1/2, recall 1/3; labels a 1, b 0, c 0, x 0.
        (["a", "x"], ["a", "b", "c"], 0.4, 0.25, 0.0),
        (["a", "", "b"], ["a", "b"], 1.0, 1.0, 0.0),  # two commas in a row name no type
        ([""], ["a"], 0.0, 0.0, 0.0),
        (["the types are a"], ["a"], 0.0, 0.0, 0.0),
    ],
)
def test_every_predicted_type_counts(
    prediction: list[str], gold: list[str], micro: float, macro: float, accuracy: float
) -> None:
    expected = {"f1_micro": micro, "f1_macro": macro, "accuracy": accuracy}
    assert parts(prediction, gold) == pytest.approx(expected)


def test_a_surplus_type_is_free_in_the_reference_alone() -> None:
    types, reply = ["people.person"], "people.person, location.location"
    assert score_answer("turl_cta", reply, types, compat="reference").value == 1.0
    assert score_answer("turl_cta", reply, types).value == pytest.approx(2 / 3)


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
def test_micro_f1_is_that_of_two_sets(prediction: list[str], gold: list[str]) -> None:
    given_labels, wanted = set(prediction), set(gold)
    expected = 2 * len(given_labels & wanted) / (len(given_labels) + len(wanted))
    assert parts(prediction, gold)["f1_micro"] == pytest.approx(expected)
    lenient = score("turl", prediction, [gold], compat="reference").value
    assert lenient >= parts(prediction, gold)["f1_micro"]
    # The reference forgets the predicted types that are not expected, and nothing else.
    hits = given_labels & wanted
    assert lenient == pytest.approx(2 * len(hits) / (len(hits) + len(wanted)))


# Reading files


def cell(row: int, column: int, text: str) -> list[Any]:
    return [[row, column], [1000 + row, text]]


def row(
    table_id: str = "7-1",
    headers: tuple[str, ...] = ("Ship", "Captain"),
    rows: tuple[tuple[str, ...], ...] = (("Gull", "Ann"), ("Tern", ""), ("Skua", "Bo")),
    types: tuple[tuple[str, ...], ...] = (("boats.ship",), ("people.person", "boats.captain")),
) -> list[Any]:
    """One upstream row; empty texts are left out of the columns, as upstream does."""
    columns = [
        [cell(number, place, texts[place]) for number, texts in enumerate(rows) if texts[place]]
        for place in range(len(headers))
    ]
    return [
        table_id, f"page {table_id}", 7, "the fleet", "ships of 1901", list(headers), columns,
        [list(names) for names in types],
    ]  # fmt: skip


VOCABULARY = "0\tboats.ship\n1\tpeople.person\n2\tboats.captain\n"


def turl(folder: Path, vocabulary: str | bytes = VOCABULARY, **files: Any) -> Path:
    """Write `test`, `dev` and `train` as far as given; text is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    data = vocabulary if isinstance(vocabulary, bytes) else vocabulary.encode()
    (folder / "type_vocab.txt").write_bytes(data)
    for split, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{split}.table_col_type.json").write_text(text, encoding="utf-8")
    return folder


def opened(folder: Path, compat: Compat = "fixed") -> Source:
    return TurlCTA().open(folder, compat=compat)


def table_of(folder: Path, content: list[Any], compat: Compat = "fixed") -> Table:
    source = opened(turl(folder, test=[content]), compat)
    table = source.example(source.example_ids(1)[0]).inputs["table"]
    assert isinstance(table, Table)
    return table


def test_one_example_for_each_column(tmp_path: Path) -> None:
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


def test_the_columns_of_a_table_share_it(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, test=[row()]))
    first, second = (source.example(name).inputs["table"] for name in ("7-1-1", "7-1-2"))
    assert first is second


def test_an_example_is_found_without_listing_first(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, test=[row(f"7-{n}") for n in range(5)]))
    assert source.example("7-3-2").inputs["page_title"] == "page 7-3"
    assert len(source.example_ids(None)) == 10
    with pytest.raises(DataError, match=r"test\.table_col_type\.json: no usable .* '7-9-1'"):
        source.example("7-9-1")


def test_only_the_reference_loses_the_last_row(tmp_path: Path) -> None:
    assert table_of(tmp_path, row()).rows == (("Gull", "Ann"), ("Tern", ""), ("Skua", "Bo"))
    assert table_of(tmp_path, row(), "reference").rows == (("Gull", "Ann"), ("Tern", ""))


def test_rows_are_counted_at_the_columns_ends(tmp_path: Path) -> None:
    # The first column's last entry is not the one with its largest row number, so the published
    # reader takes 2, the second column's, for the number of rows.
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


def test_row_numbers_cost_nothing(tmp_path: Path) -> None:
    content = row()
    content[6][0].append(cell(10**15, 0, "far away"))
    assert table_of(tmp_path, content).rows[-1] == ("far away", "")
    assert len(table_of(tmp_path, content, "reference").rows) == 3


def test_a_table_of_no_columns_and_one_of_empty_columns(tmp_path: Path) -> None:
    bare = row("7-1", (), (), ())
    empty = row("7-2", rows=())
    for compat in COMPAT_MODES:
        source = opened(turl(tmp_path, test=[bare, empty]), compat)
        assert list(source.example_ids(None)) == ["7-2-1", "7-2-2"]
        assert source.example("7-2-1").inputs["table"] == Table(["Ship", "Captain"], [])


def test_the_pool_is_train_else_dev_else_the_test_file(tmp_path: Path) -> None:
    files = {"test": [row()], "dev": [row("6-1")], "train": [row("5-1")]}
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
def test_keys_of_the_pool_are_those_of_its_items(tmp_path: Path, split: str) -> None:
    source = opened(turl(tmp_path, **{"test": [row()], split: [row(), row("7-2")]}))
    assert len(source.pool) == 4
    for index in range(4):
        assert source.pool.key(index) == text_key(source.pool[index])


def runner(folder: Path, **settings: Any) -> Runner:
    return Runner(Settings(data=folder, **settings), builtin_registry())


def prompt(
    run: Runner, example_id: str, serializer: str = "csv", perturbation: str = "none"
) -> str:
    return run.renderer.render(Case("turl_cta", example_id, serializer, perturbation, "m", "id"))[1]


def test_the_whole_prompt(tmp_path: Path) -> None:
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
    with pytest.raises(DataError, match=r"3 demonstrations .* only 2 .*--bench-shots"):
        prompt(runner(tmp_path, shots=3), "7-1-1")


def test_empty_rows_do_not_add_up(tmp_path: Path) -> None:
    turl(tmp_path / "turl_cta", test=[row()])
    run = runner(tmp_path, shots=1)
    texts = []
    for _ in range(2):
        for example_id in ("7-1-1", "7-1-2"):
            case = Case("turl_cta", example_id, "csv", "insert_empty_rows", "m", "id")
            example, text = run.renderer.render(case)
            assert example.inputs["table"].shape == (5, 2)
            texts.append(text)
    assert texts[:2] == texts[2:]
    unchanged = run.source("turl_cta").example("7-1-1").inputs["table"]
    assert unchanged.shape == (3, 2)


def test_the_runner_reads_in_the_mode_of_the_run(tmp_path: Path) -> None:
    turl(tmp_path / "turl_cta", test=[row()])
    assert "Skua,Bo" in prompt(runner(tmp_path, shots=0), "7-1-1")
    text = prompt(runner(tmp_path, shots=0, compat="reference"), "7-1-1")
    assert "Gull,Ann" in text
    assert "Skua" not in text


def test_the_assertion_wants_all_types_and_no_other(tmp_path: Path) -> None:
    turl(tmp_path / "turl_cta", test=[row()])
    run = runner(tmp_path, shots=0)

    case = run.start(Case("turl_cta", "7-1-2", "csv", "none", "m", "id"))
    case.example = run.source("turl_cta").example("7-1-2")
    assert_label_f1(case, Answer("Boats.captain,people.person\nbecause"))
    assert case.value == 1.0
    with pytest.raises(WrongAnswer, match=r"(?s)Captain.*people\.person, boats\.captain.*0\.80"):
        assert_label_f1(case, Answer("people.person, boats.captain, boats.ship"))
    assert case.value == pytest.approx(0.8)


# What is wrong with a file


def test_no_folder_and_half_a_copy(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"no data in .*turl_cta.*tablebench pull turl_cta"):
        opened(tmp_path / "turl_cta")
    turl(tmp_path / "a", train=[row()])
    with pytest.raises(DataError, match=rf"lacks {TEST} .*tablebench pull turl_cta"):
        opened(tmp_path / "a")
    turl(tmp_path / "b", test=[row()])
    (tmp_path / "b" / "type_vocab.txt").unlink()
    with pytest.raises(DataError, match=r"lacks type_vocab\.txt"):
        opened(tmp_path / "b")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "holds no type"),
        ("\n\n", "holds no type"),
        ("0\ta.b\nc.d\n", r"type_vocab\.txt, line 2: must hold a number, a tab and a type"),
        ("x\ta.b\n", "line 1"),
        ("0\t \n", "line 1"),
        (b"0\t\xff\n", "not UTF-8"),
    ],
)
def test_a_bad_vocabulary(tmp_path: Path, content: str | bytes, words: str) -> None:
    turl(tmp_path, content, test=[row()])
    with pytest.raises(DataError, match=words):
        opened(tmp_path)


def test_a_vocabulary_with_other_line_ends(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, "0\ta.b\r\n1\tc.d\r\n", test=[row()]))
    assert source.example("7-1-1").inputs["vocab"] == ["a.b", "c.d"]


@pytest.mark.parametrize("content", ["", "{}", "null", '{"a": [1]}', "version https://git-lfs"])
def test_no_list_at_all(tmp_path: Path, content: str) -> None:
    source = opened(turl(tmp_path, test=content))
    with pytest.raises(DataError, match=rf"{TEST}: must hold a JSON list"):
        source.example_ids(None)


def test_a_file_that_breaks_off_keeps_what_is_whole(tmp_path: Path) -> None:
    whole = json.dumps([row("7-1"), row("7-2"), row("7-3")])
    source = opened(turl(tmp_path, test=whole[: whole.index("7-3") + 40]))
    assert list(source.example_ids(None)) == ["7-1-1", "7-1-2", "7-2-1", "7-2-2"]
    [problem] = source.problems
    assert str(problem).startswith(f"{TEST}, row 3, field 'row': ")
    assert "item 3" in str(problem)
    assert "fetch the file again" in str(problem)


def test_a_file_that_breaks_off_in_its_first_row_is_no_data(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, test=json.dumps([row()])[:60]))
    with pytest.raises(DataError, match=rf"{TEST}: item 1 is not valid JSON or cut off"):
        source.example_ids(None)


def changed(position: int, value: Any) -> list[Any]:
    content = row("7-2")
    content[position] = value
    return content


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        (None, "row", "is not [table id, page title"),
        ({"table": 1}, "row", "is not ["),
        (row("7-2")[:7], "row", "is not ["),
        (changed(0, 7), "table id", "no text"),
        (changed(0, "7-1"), "table id", "'7-1' occurs a second time"),
        (changed(1, None), "page title", "no text"),
        (changed(3, ["a"]), "section title", "no text"),
        (changed(4, 1), "caption", "no text"),
        (changed(5, "Ship"), "headers", "no list of texts"),
        (changed(5, ["Ship", None]), "headers", "no list of texts"),
        (changed(5, ["Ship"]), "columns", "each of 1 headers"),
        (changed(6, {"0": []}), "columns", "each of 2 headers"),
        (changed(6, [[], "table"]), "column 2", "entry 1 is not [[row, column]"),
        (changed(6, [[cell(0, 0, "a"), [[1, 0]]], []]), "column 1", "entry 2 is not"),
        (changed(6, [[[["0", 0], [1, "a"]]], []]), "column 1", "entry 1"),
        (changed(6, [[[[-1, 0], [1, "a"]]], []]), "column 1", "entry 1"),
        (changed(6, [[[[True, 0], [1, "a"]]], []]), "column 1", "entry 1"),
        (changed(6, [[[[0, 0], [1, 7]]], []]), "column 1", "entry 1"),
        (changed(7, [["boats.ship"]]), "types", "each of 2 headers"),
        (changed(7, None), "types", "each of 2 headers"),
    ],
)
def test_a_bad_row_is_named_and_the_others_stay(
    tmp_path: Path, content: Any, field: str, words: str
) -> None:
    for compat in COMPAT_MODES:
        source = opened(turl(tmp_path, test=[row("7-1"), content, row("7-3")]), compat)
        assert list(source.example_ids(None)) == ["7-1-1", "7-1-2", "7-3-1", "7-3-2"]
        [problem] = source.problems
        assert str(problem).startswith(f"{TEST}, row 2, field {field!r}: ")
        assert words in str(problem)


@pytest.mark.parametrize("types", [[], "boats.ship", [""], [7], None])
def test_bad_types_cost_one_column(tmp_path: Path, types: Any) -> None:
    content = row("7-1")
    content[7][0] = types
    source = opened(turl(tmp_path, test=[content]))
    assert list(source.example_ids(None)) == ["7-1-2"]  # keeps the column's place
    [problem] = source.problems
    assert str(problem) == f"{TEST}, row 1, field 'types of column 1': is no list of types"


def test_a_bad_row_of_the_pool_is_named_too(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, test=[row()], train=[None, row("8-1")]))
    assert [source.pool[n].id for n in range(len(source.pool))] == ["8-1-1", "8-1-2"]
    assert [str(problem).split(",")[0] for problem in source.problems] == [TRAIN]


# Size


def test_10000_columns_of_a_larger_file_are_read(tmp_path: Path) -> None:
    rows = [row(f"7-{n}") for n in range(5_010)]
    source = opened(turl(tmp_path, test=rows, train=rows))
    ids = source.example_ids(None)
    assert (len(ids), ids[-1]) == (10_000, "7-4999-2")
    assert len(source.pool) == 10_000


def test_no_more_of_a_file_is_read_than_asked_for(tmp_path: Path) -> None:
    # What follows the first rows is no JSON; whoever read it would say so.
    text = json.dumps([row(f"7-{n}") for n in range(2_000)])
    source = opened(turl(tmp_path, test=text[:-1] + ", {{{"))
    assert len(source.example_ids(100)) == 100
    assert source.example("7-20-1").id == "7-20-1"
    assert not source.problems
    assert len(source.example_ids(None)) == 4_000
    assert len(source.problems) == 1


@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=6,
        ),
        max_size=5,
    ),
    st.integers(1, 9),
    st.sampled_from([None, 1]),
)
def test_items_of_a_list_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], chunk: int, indent: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "items.json"
    path.write_text(json.dumps(items, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_tablebench.datasets._streams._CHUNK", chunk)
        assert list(json_items(path)) == items


@pytest.mark.parametrize(
    ("content", "number"),
    [
        (b"[1, 2", 2), (b"[1 2]", 2), (b"[1,, 2]", 2), (b"[,1]", 1), (b"[1,]", 2), (b"[", 1),
        (b"[[1], [2", 2), (b'[["a"], ["b]]', 2), (b"[" + b"9" * 5000 + b"]", 1),
    ],
)  # fmt: skip
def test_what_is_no_list_of_items_names_the_item(
    tmp_path: Path, content: bytes, number: int
) -> None:
    (tmp_path / "items.json").write_bytes(content)
    items = json_items(tmp_path / "items.json")
    found = list(islice(items, number - 1))
    with pytest.raises(DataError, match=rf"items\.json: item {number} is not valid JSON or cut"):
        next(items)
    assert len(found) == number - 1


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[" * 100_000, "nested too deeply"), (b'["\xff"]', "not UTF-8"), (None, "cannot be read")],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "items.json"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(DataError, match=rf"items\.json: .*{words}"):
        list(json_items(path))
