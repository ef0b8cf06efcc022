"""Reading NumericNLG, SciGen and QTSumm: what upstream files may hold, and what must not stop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench import score_answer
from pytest_tablebench.cases import Case
from pytest_tablebench.datasets import Source, text_key
from pytest_tablebench.datasets.torr.numericnlg import NumericNLG
from pytest_tablebench.datasets.torr.qtsumm import QTSumm
from pytest_tablebench.datasets.torr.scigen import SciGen
from pytest_tablebench.errors import DataError, DataMissing, TableError
from pytest_tablebench.perturbations import GRID, perturb
from pytest_tablebench.registry import builtin_registry
from pytest_tablebench.runner import Runner
from pytest_tablebench.serializers import SERIALIZERS, serialize
from pytest_tablebench.settings import Settings
from pytest_tablebench.table import Table

Content = Any
"""What a file holds: a value written as JSON, or text or bytes written as they are."""


def write(folder: Path, files: dict[str, Content]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def html(header: list[str], rows: list[list[str]]) -> str:
    """The form upstream writes: one line, blanks between the tags."""
    head = "".join(f"      <th>{name}</th>" for name in header)
    body = "".join(
        f"    <tr>{''.join(f'      <td>{cell}</td>' for cell in row)}    </tr>" for row in rows
    )
    return (
        f"<table border='1' class='dataframe'>  <thead>    <tr style='text-align: right;'>{head}"
        f"    </tr>  </thead>  <tbody>{body}  </tbody></table>"
    )


# NumericNLG

N_TEST, N_TEST_DESC = "data/table_test.json", "data/table_desc_test.json"
N_VAL, N_VAL_DESC = "data/table_val.json", "data/table_desc_val.json"
N_HTML = html(["", "Kiln || Old", "Kiln || New"], [["Fired || Day", "12", "40"]])


def n_table(key: str, **changes: Any) -> dict[str, Any]:
    row = {
        "table_id_paper": key, "caption": f"Kilns of {key}", "table_html_clean": N_HTML,
        "row_headers": [["Fired", "Day"]], "contents": [["12", "40"]], "valid": 1,
        "table_name": "Table 3", "table_id": "table_3", "metrics_type": [],
    }  # fmt: skip
    return row | changes


def n_text(key: str, **changes: Any) -> dict[str, Any]:
    row = {
        "table_id_paper": key, "description": f"In {key} the New kiln wins. It fires 40 times.",
        "sentences": [], "n_sentence": 2.0, "header_mention": [None],
    }  # fmt: skip
    return row | changes


N_KEYS = ["P16-1table_2", "P16-1table_3"]
N_POOL = [f"V16-{number}table_1" for number in range(6)]


def n_files(**changes: Content) -> dict[str, Content]:
    files: dict[str, Content] = {
        N_TEST: [n_table(key) for key in N_KEYS],
        N_TEST_DESC: [n_text(key) for key in reversed(N_KEYS)],
        N_VAL: [n_table(key) for key in N_POOL],
        N_VAL_DESC: [n_text(key) for key in N_POOL],
    }
    return files | {
        {"test": N_TEST, "desc": N_TEST_DESC, "val": N_VAL, "val_desc": N_VAL_DESC}[name]: content
        for name, content in changes.items()
    }


# SciGen

S_TEST, S_OTHER = "dataset/test/test-CL.json", "dataset/test/test-Other.json"
S_MEDIUM = "dataset/train/medium/train.json"
S_TRAIN, S_DEV = "dataset/train/few-shot/train.json", "dataset/development/few-shot/dev.json"


def s_row(name: str, **changes: Any) -> dict[str, Any]:
    row = {
        "paper": "Kilns", "paper_id": "1", "table_caption": f"Table 1: kilns of {name}",
        "table_column_names": ["Kiln", "Fired"],
        "table_content_values": [["Old", "[BOLD] 12"], ["New", "40\u00a0±\u00a01"]],
        "text": f"In {name} the New kiln wins. [CONTINUE] It fires 40 times.",
    }  # fmt: skip
    return row | changes


def s_files(**changes: Content) -> dict[str, Content]:
    files: dict[str, Content] = {
        S_TEST: {"17": s_row("a"), "3": s_row("b")},
        S_OTHER: {"17": s_row("other", field="cs.LG")},
        S_TRAIN: {str(number): s_row(f"t{number}") for number in range(6)},
    }
    return files | {
        {"test": S_TEST, "train": S_TRAIN}[name]: content for name, content in changes.items()
    }


# QTSumm

Q_TEST, Q_TRAIN, Q_DEV = "qtsumm_test.json", "qtsumm_train.json", "qtsumm_dev.json"


def q_table(**changes: Any) -> dict[str, Any]:
    table = {
        "header": ["Kiln", "Fired"], "rows": [["Old", "12"], ["New", "40"]],
        "title": "Kilns", "table_id": "k-1",
    }  # fmt: skip
    return table | changes


def q_row(key: str, **changes: Any) -> dict[str, Any]:
    row = {
        "example_id": key, "table": q_table(), "query": f"Which kiln wins {key}?",
        "summary": f"The New kiln wins {key}.", "row_ids": [1],
    }  # fmt: skip
    return row | changes


def q_files(**changes: Content) -> dict[str, Content]:
    files: dict[str, Content] = {
        Q_TEST: [q_row("e-2"), q_row("e-1")],
        Q_TRAIN: [q_row(f"t-{number}") for number in range(6)],
    }
    return files | {
        {"test": Q_TEST, "train": Q_TRAIN}[name]: content for name, content in changes.items()
    }


DATASETS: dict[str, tuple[Any, Callable[..., dict[str, Content]], str]] = {
    "numericnlg": (NumericNLG(), n_files, N_TEST),
    "scigen": (SciGen(), s_files, S_TEST),
    "qtsumm": (QTSumm(), q_files, Q_TEST),
}
every = pytest.mark.parametrize("name", DATASETS)


def opened(name: str, folder: Path, files: dict[str, Content] | None = None) -> Source:
    dataset, make, _ = DATASETS[name]
    return dataset.open(write(folder / name, make() if files is None else files))


def ids(source: Source) -> list[str]:
    return list(source.example_ids(None))


def table_of(source: Source, example_id: str) -> Table:
    table = source.example(example_id).inputs["table"]
    assert isinstance(table, Table)
    return table


# What an example is


def test_numericnlg_joins_table_and_description(tmp_path: Path) -> None:
    source = opened("numericnlg", tmp_path)
    assert ids(source) == N_KEYS  # the tables' order, not the descriptions'
    assert list(source.example_ids(1)) == N_KEYS[:1]
    example = source.example(N_KEYS[0])
    assert list(example.inputs) == ["table", "caption"]
    assert example.inputs["table"] == Table(
        ["", "Kiln || Old", "Kiln || New"], [["Fired || Day", "12", "40"]]
    )
    assert example.inputs["caption"] == example.question == "Kilns of P16-1table_2"
    text = "In P16-1table_2 the New kiln wins. It fires 40 times."
    assert (example.references, example.target) == ((text,), text)
    assert not source.problems


def test_scigen_takes_the_computation_and_language_half(tmp_path: Path) -> None:
    source = opened("scigen", tmp_path)
    assert ids(source) == ["17", "3"]  # file order, gaps kept
    example = source.example("17")
    assert list(example.inputs) == ["table", "caption"]
    assert example.inputs["table"] == Table(
        ["Kiln", "Fired"], [["Old", "[BOLD] 12"], ["New", "40\u00a0±\u00a01"]]
    )
    assert example.references == ("In a the New kiln wins. [CONTINUE] It fires 40 times.",)
    assert any("test-CL.json" in note and "test-Other.json" in note for note in source.facts.notes)
    assert set(source.facts.files) == {S_TEST, S_TRAIN}


def test_qtsumm_uses_the_table_as_it_is(tmp_path: Path) -> None:
    source = opened("qtsumm", tmp_path)
    assert ids(source) == ["e-2", "e-1"]
    example = source.example("e-1")
    assert list(example.inputs) == ["table", "question"]
    assert example.question == "Which kiln wins e-1?"
    assert example.references == ("The New kiln wins e-1.",)
    mapping = example.inputs["table"].as_mapping()
    assert mapping == q_table()
    assert list(mapping) == ["header", "rows", "title", "table_id"]
    assert not source.facts.notes


def test_qtsumm_s_hidden_keys_seed_the_shuffles(tmp_path: Path) -> None:
    rows = [[str(number), "x"] for number in range(12)]
    orders = {"title": "K", "table_id": "7", "header": ["a", "b"], "rows": rows}
    first = q_row("e-1", table={"header": ["a", "b"], "rows": rows, "title": "K", "table_id": "7"})
    test = [first, q_row("e-2", table=orders), q_row("e-3", table=q_table(rows=rows))]
    source = opened("qtsumm", tmp_path, q_files(test=test))
    tables = [table_of(source, key) for key in ("e-1", "e-2", "e-3")]
    assert tables[0].rows == tables[1].rows == tables[2].rows
    assert len({perturb(table, "shuffle_rows").rows for table in tables}) == 3
    for table in tables:
        # Not shown, whatever the format.
        for serializer in SERIALIZERS:
            plain = Table(table.header, table.rows)
            assert serialize(table, serializer) == serialize(plain, serializer)


@every
def test_pool_keys_are_those_of_the_loaded_items(name: str, tmp_path: Path) -> None:
    pool = opened(name, tmp_path).pool
    assert len(pool) == 6
    assert [pool.key(n) for n in range(6)] == [text_key(pool[n]) for n in range(6)]


@every
def test_fixed_properties(name: str) -> None:
    dataset = builtin_registry().datasets[name]
    assert (dataset.benchmark, dataset.metric, dataset.shots, dataset.limit) == (
        "torr", "rouge", 5, 100,
    )  # fmt: skip
    assert dataset.threshold == {"qtsumm": 0.40}.get(name, 0.15)
    for compat in ("fixed", "reference"):
        chain = ("to_string_stripped",) if name == "qtsumm" else ("lower_case",)
        assert dataset.chain(compat) == chain
    assert "\n" not in dataset.get
    assert dataset.get


@every
def test_the_chain_and_the_metric_score_a_raw_reply(name: str) -> None:
    result = score_answer(name, "\n THE CAT sat\n", ["the cat sat on the mat"])
    assert result.value == result.parts["rougeL"] == pytest.approx(2 / 3, abs=1e-12)
    assert set(result.parts) == {"rouge1", "rouge2", "rougeL", "rougeLsum"}


# Prompts: torr.md sections 3.5 to 3.7


def prompt(name: str, folder: Path, example_id: str, serializer: str = "csv") -> str:
    opened(name, folder)
    runner = Runner(Settings(data=folder), builtin_registry())
    return runner.renderer.render(Case(name, example_id, serializer, "none", "m", "id"))[1]


def test_numericnlg_prompt(tmp_path: Path) -> None:
    text = prompt("numericnlg", tmp_path, N_KEYS[1])
    table = ",Kiln || Old,Kiln || New\nFired || Day,12,40"
    assert text.endswith(
        f"\n\ntable: \n{table} \ncaption: \nKilns of P16-1table_3 \ndescription:\n"
    )
    instruction, *shown = text.split("table: \n")
    assert len(shown) == 6  # five demonstrations and the question
    for demonstration in shown[:-1]:
        assert demonstration.startswith(f"{table} \ncaption: \nKilns of V16-")
        assert " \ndescription:\nIn V16-" in demonstration
    for word in ("table", "caption", "description", "examples", "output", "last"):
        assert word in instruction


def test_scigen_prompt(tmp_path: Path) -> None:
    text = prompt("scigen", tmp_path, "3")
    table = "Kiln,Fired\nOld,[BOLD] 12\nNew,40\u00a0±\u00a01"
    assert text.endswith(
        f"\n\ntable: \n{table} \ncaption: \nTable 1: kilns of b \ntext description:\n"
    )
    assert text.count(" \ntext description:\nIn t") == 5
    assert "text description" in text.split("table: \n")[0]


def test_qtsumm_prompt(tmp_path: Path) -> None:
    text = prompt("qtsumm", tmp_path, "e-1")
    table = "Kiln,Fired\nOld,12\nNew,40"
    assert text.endswith(f"\n\nTable:\n{table}\nQuery:\nWhich kiln wins e-1?\nAnswer:\n")
    assert text.count(f"Table:\n{table}\nQuery:\nWhich kiln wins t-") == 5
    assert text.count("?\nAnswer:\nThe New kiln wins t-") == 5
    assert "Kilns" not in text
    assert "k-1" not in text
    instruction = text.split("Table:\n")[0]
    for word in ("Table", "query", "paragraph", "examples", "output", "last"):
        assert word in instruction


# Where demonstrations come from


def test_numericnlg_prefers_the_training_files(tmp_path: Path) -> None:
    source = opened("numericnlg", tmp_path)
    [note] = source.facts.notes
    assert "validation" in note
    assert set(source.facts.files) == {N_TEST, N_TEST_DESC, N_VAL, N_VAL_DESC}
    train = {"data/table_train.json": [n_table("T")], "data/table_desc_train.json": [n_text("T")]}
    source = opened("numericnlg", tmp_path / "2", n_files() | train)
    assert not source.facts.notes
    assert [source.pool[n].id for n in range(len(source.pool))] == ["T"]
    # One of the pair is not enough.
    half = {"data/table_desc_train.json": [n_text("T")]}
    source = opened("numericnlg", tmp_path / "3", n_files() | half)
    assert len(source.pool) == 6
    assert source.facts.notes


def test_scigen_prefers_the_medium_training_file(tmp_path: Path) -> None:
    files = s_files() | {S_DEV: {"1": s_row("d")}}
    kinds = {}
    for number, extra in enumerate(({S_MEDIUM: {"9": s_row("m")}}, {})):
        source = opened("scigen", tmp_path / str(number), files | extra)
        kinds[source.pool[0].question[-2:]] = [n for n in source.facts.notes if "demonstr" in n]
    del files[S_TRAIN]
    source = opened("scigen", tmp_path / "3", files)
    kinds[source.pool[0].question[-2:]] = [n for n in source.facts.notes if "demonstr" in n]
    assert list(kinds) == [" m", "t0", " d"]
    assert kinds[" m"] == []
    assert "few-shot training" in kinds["t0"][0]
    assert "validation" in kinds[" d"][0]


def test_qtsumm_falls_back_to_the_validation_file(tmp_path: Path) -> None:
    files = {Q_TEST: [q_row("e-1")], Q_DEV: [q_row("d-1")]}
    source = opened("qtsumm", tmp_path, files)
    [note] = source.facts.notes
    assert "validation" in note
    assert set(source.facts.files) == {Q_TEST, Q_DEV}
    assert source.pool[0].id == "d-1"


def test_10000_rows_are_read(tmp_path: Path) -> None:
    many = [q_row(f"e-{number}") for number in range(10_002)]
    source = opened("qtsumm", tmp_path, q_files(test=many, train=many))
    assert len(ids(source)) == len(source.pool) == 10_000


# Quirks of the files


@pytest.mark.parametrize(
    ("text", "header", "rows"),
    [
        # Several header lines make one long header (torr.md section 9, row 20).
        (
            "<thead><tr><th></th><th>A</th></tr><tr><th>x</th><th>y</th></tr></thead>"
            "<tbody><tr><td>1</td><td>2</td></tr></tbody>",
            ["", "A", "x", "y"],
            [["1", "2"]],
        ),
        # Row labels marked th are lost, a td in the head too.
        (
            "<thead><tr><td>no</td><th>A</th></tr></thead><tbody><tr><th>r</th><td>1</td></tr>"
            "<tr><th>s</th></tr></tbody>",
            ["A"],
            [["1"], []],
        ),
        # Entities, nested marks, white space as written; other bodies than the first are not read.
        (
            "<THEAD><tr><th> A&amp;B </th></tr></THEAD><tbody><tr><td><b>1</b>\u00a0&lt; 2</td>"
            "</tr></tbody><tbody><tr><td>x</td></tr></tbody>",
            [" A&B "],
            [["1\u00a0< 2"]],
        ),
        # Missing end tags, something like XML before it.
        (
            "<?xml version='1.0'?><thead><tr><th>A</thead><tbody><tr><td>1</tbody>",
            ["A"],
            [["1"]],
        ),
        ("<thead></thead><tbody></tbody>", [], []),
    ],
)
def test_numericnlg_html(
    tmp_path: Path, text: str, header: list[str], rows: list[list[str]]
) -> None:
    test = [n_table(N_KEYS[0], table_html_clean=f"<table>{text}</table>"), n_table(N_KEYS[1])]
    source = opened("numericnlg", tmp_path, n_files(test=test))
    assert table_of(source, N_KEYS[0]) == Table(header, rows)


def test_scigen_literals_of_the_hub_s_copy_read_as_lists(tmp_path: Path) -> None:
    lists = s_row("a", table_column_names=["Kiln", "it's", "Kiln"], table_content_values=[["\\d"]])
    texts = lists | {
        "table_column_names": repr(lists["table_column_names"]),
        "table_content_values": "[['\\d']]",  # a backslash that escapes nothing
    }
    source = opened("scigen", tmp_path, s_files(test={"1": lists, "2": texts}))
    assert table_of(source, "1") == table_of(source, "2")
    assert not source.problems


def test_scigen_leaves_out_empty_tables_without_a_word(tmp_path: Path) -> None:
    test = {
        "1": s_row("a", table_content_values="[]"),
        "2": s_row("b", table_content_values=[]),
        "3": s_row("c", table_content_values="[ ]"),  # not exactly the text
        "4": s_row("d"),
    }
    source = opened("scigen", tmp_path, s_files(test=test))
    assert ids(source) == ["3", "4"]
    assert not source.problems
    assert table_of(source, "3").rows == ()


def test_scigen_a_repeated_key_is_the_last_one(tmp_path: Path) -> None:
    text = json.dumps({"1": s_row("a")})[:-1] + f', "1": {json.dumps(s_row("b"))}}}'
    source = opened("scigen", tmp_path, s_files(test=text))
    assert ids(source) == ["1"]
    assert source.example("1").question.endswith("kilns of b")


def test_qtsumm_odd_cells_stay(tmp_path: Path) -> None:
    table = {
        "header": ["", "Kiln", "Kiln"],
        "rows": [["", "–", None], [1, 2.5, True], ["a\nb", math.nan, " x "]],
        "title": "", "table_id": None, "more": [1, {"deep": 2}],
    }  # fmt: skip
    source = opened("qtsumm", tmp_path, q_files(test=[q_row("e-1", table=table)]))
    found = table_of(source, "e-1")
    assert found.header == ("", "Kiln", "Kiln")
    assert found.rows[:2] == (("", "–", None), (1, 2.5, True))
    assert math.isnan(found.rows[2][1])
    assert list(found.as_mapping()) == list(table)
    assert not source.problems


def test_empty_captions_are_allowed(tmp_path: Path) -> None:
    test = [n_table(N_KEYS[0], caption=""), n_table(N_KEYS[1])]
    assert ids(opened("numericnlg", tmp_path, n_files(test=test))) == N_KEYS
    rows = {"1": s_row("a", table_caption="")}
    assert ids(opened("scigen", tmp_path, s_files(test=rows))) == ["1"]


RAGGED = [["1", "2", "3"], ["4"]]


@pytest.mark.parametrize(
    ("name", "rows", "refused"),
    [
        # Too long a row: json and df have no column for the cell; too short a row: columns
        # cannot be moved, in none of the seven formats.
        (
            "numericnlg",
            RAGGED,
            {
                **{(change, form): 1 for change in ("none", "shuffle_rows", "insert_empty_rows")
                   for form in ("json", "df")},
                **{(change, form): 1 for change in ("shuffle_cols", "transpose")
                   for form in SERIALIZERS},
            },
        ),
        # No rows: csv alone shows a header by itself; two empty rows and a transposed header
        # fill the table again.
        (
            "scigen",
            [],
            {
                (change, form): 1
                for change in ("none", "shuffle_rows", "shuffle_cols")
                for form in SERIALIZERS
                if form != "csv"
            },
        ),
    ],
)  # fmt: skip
def test_unusable_tables_are_refused_format_by_format(
    tmp_path: Path, name: str, rows: list[list[str]], refused: dict[tuple[str, str], int]
) -> None:
    if name == "numericnlg":
        table = html(["a", "b"], rows)
        files = n_files(test=[n_table(N_KEYS[0], table_html_clean=table), n_table(N_KEYS[1])])
        example_id = N_KEYS[0]
    else:
        files = s_files(test={"1": s_row("a", table_content_values=repr(rows).replace("]", " ]"))})
        example_id = "1"
    opened(name, tmp_path, files)
    runner = Runner(Settings(data=tmp_path), builtin_registry())
    found: dict[tuple[str, str], int] = {}
    for change in GRID:
        for form in SERIALIZERS:
            try:
                runner.renderer.render(Case(name, example_id, form, change, "m", "id"))
            except TableError:
                found[change, form] = 1
    assert found == refused


# What is wrong with a file


@every
def test_no_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=rf"no data in .*{name}; get it with: "):
        DATASETS[name][0].open(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "gone", "words"),
    [
        ("numericnlg", N_TEST, [N_TEST]),
        ("numericnlg", N_TEST_DESC, [N_TEST_DESC]),
        ("numericnlg", N_VAL, [N_VAL]),
        ("numericnlg", N_VAL_DESC, [N_VAL_DESC]),
        ("scigen", S_TEST, [S_TEST]),
        ("scigen", S_TRAIN, [S_TRAIN]),
        ("qtsumm", Q_TEST, [Q_TEST]),
        ("qtsumm", Q_TRAIN, [Q_DEV]),
    ],
)
def test_half_a_copy(name: str, gone: str, words: list[str], tmp_path: Path) -> None:
    files = DATASETS[name][1]()
    del files[gone]
    with pytest.raises(DataError) as caught:
        opened(name, tmp_path, files)
    assert not isinstance(caught.value, DataMissing)
    for word in [*words, "get it with"]:
        assert word in str(caught.value)


@every
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('[{"a": [1', r"not valid JSON: .*line 1 column"),
        ("", r"not valid JSON"),
        ("[" * 100_000, r"nested too deeply"),
        ("null", r"must hold (a list|an object) .*not a NoneType"),
        ('"text"', r"must hold (a list|an object) .*not a str"),
        (b'[{"\xff": 1}]', r"not UTF-8"),
    ],
    ids=["cut-off", "empty", "deep", "null", "text", "latin-1"],
)
def test_no_dataset_at_all(name: str, content: Content, words: str, tmp_path: Path) -> None:
    file = DATASETS[name][2]
    files = DATASETS[name][1]() | {file: content}
    with pytest.raises(DataError, match=words) as caught:
        opened(name, tmp_path, files)
    assert Path(file).name in str(caught.value)


def test_a_broken_pool_file_is_named_when_it_is_read(tmp_path: Path) -> None:
    for name, file in (("numericnlg", N_VAL_DESC), ("scigen", S_TRAIN), ("qtsumm", Q_TRAIN)):
        source = opened(name, tmp_path, DATASETS[name][1]() | {file: '{"a'})
        assert ids(source)
        with pytest.raises(DataError, match=rf"{Path(file).name}: not valid JSON"):
            len(source.pool)


NAN = math.nan


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (None, ["'row'", "must be an object"]),
        ([1], ["'row'", "must be an object"]),
        (n_table("X", table_id_paper=None), ["'table_id_paper'", "is missing"]),
        (n_table("X", table_id_paper=NAN), ["'table_id_paper'", "is no text"]),
        (n_table("X", table_id_paper=[1]), ["'table_id_paper'", "is no text"]),
        (n_table("X", caption=NAN), ["'caption'", "is no text"]),
        (n_table("X", caption=None), ["'caption'", "is missing"]),
        (n_table("X", table_html_clean=""), ["'table_html_clean'", "is empty"]),
        (n_table("X", table_html_clean=NAN), ["'table_html_clean'", "is no text"]),
        (n_table("X", table_html_clean="<table></table>"), ["'table_html_clean'", "no <thead>"]),
        (n_table("X", table_html_clean="<thead></thead>"), ["'table_html_clean'", "no <tbody>"]),
        (n_table(N_KEYS[0]), ["'id'", N_KEYS[0], "second time"]),
    ],
)
def test_numericnlg_a_bad_table_is_named_and_the_others_stay(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    test = [n_table(N_KEYS[0]), row, n_table(N_KEYS[1])]
    desc = [n_text(key) for key in N_KEYS]
    if isinstance(row, dict) and row["table_id_paper"] == "X":
        desc.append(n_text("X"))
    source = opened("numericnlg", tmp_path, n_files(test=test, desc=desc))
    assert ids(source) == N_KEYS
    [problem] = source.problems
    assert str(problem).startswith(f"{N_TEST}, row 2, field ")
    for word in words:
        assert word in str(problem)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (None, ["'row'", "must be an object"]),
        (n_text("X", description=""), ["'description'", "is empty"]),
        (n_text("X", description=" \n"), ["'description'", "is empty"]),
        (n_text("X", description=NAN), ["'description'", "is no text"]),
        (n_text("X", description=None), ["'description'", "is missing"]),
        (n_text("X", table_id_paper=7), ["'table_id_paper'", "is no text"]),
        (n_text(N_KEYS[0], description="another"), ["'table_id_paper'", "second time"]),
        (n_text("Y"), ["'table_id_paper'", "'Y'", "has no table in", N_TEST]),
    ],
)
def test_numericnlg_a_bad_description_is_named_and_the_others_stay(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    desc = [n_text(N_KEYS[0]), row, n_text(N_KEYS[1])]
    test = [n_table(key) for key in N_KEYS]
    if isinstance(row, dict) and row["table_id_paper"] == "X":
        test.insert(0, n_table("X"))
    source = opened("numericnlg", tmp_path, n_files(test=test, desc=desc))
    assert ids(source) == N_KEYS
    assert source.example(N_KEYS[0]).references[0].startswith("In P16-1table_2")
    [problem] = source.problems
    assert str(problem).startswith(f"{N_TEST_DESC}, row 2, field ")
    for word in words:
        assert word in str(problem)


def test_numericnlg_a_table_without_description_is_named(tmp_path: Path) -> None:
    test = [n_table("X"), *(n_table(key) for key in N_KEYS)]
    source = opened("numericnlg", tmp_path, n_files(test=test))
    assert ids(source) == N_KEYS
    [problem] = source.problems
    assert str(problem).startswith(f"{N_TEST}, row 1, field 'table_id_paper'")
    assert f"'X' has no description in {N_TEST_DESC}" in str(problem)


NAMES, VALUES = "table_column_names", "table_content_values"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([1], ["'row'", "must be an object"]),
        (None, ["'row'", "must be an object"]),
        (s_row("x", table_caption=NAN), ["'table_caption'", "is no text"]),
        (s_row("x", text=""), ["'text'", "is empty"]),
        (s_row("x", text=NAN), ["'text'", "is no text"]),
        (s_row("x", **{NAMES: None}), [f"'{NAMES}'", "is missing"]),
        (s_row("x", **{NAMES: NAN}), [f"'{NAMES}'", "list of texts"]),
        (s_row("x", **{NAMES: ["a", 1]}), [f"'{NAMES}'", "list of texts"]),
        (s_row("x", **{NAMES: "['a', 1]"}), [f"'{NAMES}'", "list of texts"]),
        (s_row("x", **{VALUES: None}), [f"'{VALUES}'", "is missing"]),
        (s_row("x", **{VALUES: {"a": 1}}), [f"'{VALUES}'", "list of rows"]),
        (s_row("x", **{VALUES: ["ab"]}), [f"'{VALUES}'", "row 1 must be a list"]),
        (s_row("x", **{VALUES: [["a"], [["b"]]]}), [f"'{VALUES}'", "row 2 holds a list"]),
        (s_row("x", **{VALUES: "[[1, 2]"}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "__import__('os')"}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "[" * 5000}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "1+" * 90_000 + "1"}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "-" * 90_000 + "1"}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "['\0']"}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "['\ud800']"}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "1" * 5000}), [f"'{VALUES}'", "not of a Python list"]),
        (s_row("x", **{VALUES: "[" + "1," * 150_000}), [f"'{VALUES}'", "longer than"]),
        (s_row("x", **{VALUES: "{1: 2}"}), [f"'{VALUES}'", "list of rows"]),
        (s_row("x", **{VALUES: "[[b'a']]"}), [f"'{VALUES}'", "row 1 holds a bytes"]),
    ],
)
def test_scigen_a_bad_row_is_named_and_the_others_stay(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    test = {"17": s_row("a"), "18": row, "3": s_row("b")}
    source = opened("scigen", tmp_path, s_files(test=test))
    assert ids(source) == ["17", "3"]
    [problem] = source.problems
    assert str(problem).startswith(f"{S_TEST}, row 2, field ")
    for word in words:
        assert word in str(problem)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (7, ["'row'", "must be an object"]),
        (q_row("x", example_id=None), ["'example_id'", "is missing"]),
        (q_row("x", example_id=""), ["'example_id'", "is empty"]),
        (q_row("x", query=NAN), ["'query'", "is no text"]),
        (q_row("x", query=" "), ["'query'", "is empty"]),
        (q_row("x", summary=NAN), ["'summary'", "is no text"]),
        (q_row("x", summary=""), ["'summary'", "is empty"]),
        (q_row("x", table=None), ["'table'", "is missing"]),
        (q_row("x", table=[["a"]]), ["'table'", "must be an object"]),
        (q_row("x", table={}), ["'table.header'", "list of texts"]),
        (q_row("x", table=q_table(header=["a", NAN])), ["'table.header'", "list of texts"]),
        (q_row("x", table=q_table(rows="ab")), ["'table.rows'", "list of rows"]),
        (q_row("x", table=q_table(rows=[["a"], "b"])), ["'table.rows'", "row 2 must be a list"]),
        (q_row("x", table=q_table(rows=[[{"a": 1}]])), ["'table.rows'", "row 1 holds a dict"]),
        (q_row("e-2"), ["'id'", "'e-2'", "second time"]),
    ],
)
def test_qtsumm_a_bad_row_is_named_and_the_others_stay(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    test = [q_row("e-2"), row, q_row("e-1")]
    source = opened("qtsumm", tmp_path, q_files(test=test))
    assert ids(source) == ["e-2", "e-1"]
    assert source.example("e-2").question == "Which kiln wins e-2?"
    [problem] = source.problems
    assert str(problem).startswith(f"{Q_TEST}, row 2, field ")
    for word in words:
        assert word in str(problem)


@every
def test_bad_rows_of_the_pool_are_left_out(name: str, tmp_path: Path) -> None:
    files = DATASETS[name][1]()
    file = {"numericnlg": N_VAL, "scigen": S_TRAIN, "qtsumm": Q_TRAIN}[name]
    pool = files[file]
    files[file] = {"bad": None, **pool} if isinstance(pool, dict) else [None, *pool]
    source = opened(name, tmp_path, files)
    source.example_ids(None)
    assert not source.problems
    assert len(source.pool) == 6
    [problem] = source.problems
    assert str(problem).startswith(f"{file}, row 1, field 'row'")
