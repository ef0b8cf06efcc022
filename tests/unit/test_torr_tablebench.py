"""TableBench: the corrected score, and reading the three versions of its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import score, score_answer
from pytest_tablebench.cases import Case
from pytest_tablebench.datasets import Source, text_key
from pytest_tablebench.datasets.torr.tablebench import TABLEBENCH, TableBench, split_lottery
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.registry import builtin_registry
from pytest_tablebench.runner import Runner
from pytest_tablebench.settings import Settings
from pytest_tablebench.table import Table

PLAIN, DP, V2 = "TableBench.jsonl", "TableBench_DP.jsonl", "v2/TableBench_TCoT.jsonl"

# The score


@pytest.mark.parametrize(
    ("reply", "gold", "expected"),
    [
        ("10.6", "10.6", 1.0),
        ("Final Answer: 10.60", "10.6", 1.0),  # the prompt asks for that marker
        ("10.6.", "10.6", 1.0),
        ("106", "10.6", 0.0),  # the point counts
        ("-10.6", "10.6", 0.0),  # so does the sign
        ("−0.75%", "-0.75%", 1.0),
        ("0.75%", "-0.75%", 0.0),
        ("18.9 %", "18.90%", 1.0),
        ("18.9", "18.90%", 0.0),  # and the percent sign
        ("35", "3.5%", 0.0),
        ("2,755,233.4", "2755233.40", 1.0),
        ("1952, 1953", "1952, 1953", 1.0),
        ("1952,1953", "1952, 1953", 1.0),
        ("1953, 1952", "1952, 1953", 0.0),
        ("1952", "1952, 1953", 0.0),
        ("1952, 1953, 1954", "1952, 1953", 0.0),
        ("1,952", "1, 952", 0.0),  # one number
        ("204988, 12%", "204988, 12.0%", 1.0),
        ("about 12", "12", 0.0),
        ("", "12", 0.0),
        # Not numbers alone: words in common. Two of three tokens on either side are shared.
        ("increasing trend, 13", "Increasing trend, 14", 2 / 3),
        ("The Spain.", "spain", 1.0),
        ("three", "three", 1.0),
        ("3", "three", 0.0),
        ("8ab", "8Ab", 1.0),
    ],
)
def test_numbers_are_compared_as_numbers_and_words_as_words(
    reply: str, gold: str, expected: float
) -> None:
    result = score_answer("tablebench_nr", reply, [gold])
    assert result.value == pytest.approx(expected)


def test_the_reference_drops_signs_points_and_percent_signs() -> None:
    for reply, gold in (("35", "3.5%"), ("-106", "10.6"), ("the 3,5", "35")):
        result = score_answer("tablebench_nr", reply, [gold], compat="reference")
        assert result.value == 1.0
        assert set(result.parts) == {"rouge1", "rouge2", "rougeL", "rougeLsum"}
        assert score_answer("tablebench_nr", reply, [gold]).value == 0.0


def test_parts_are_the_same_for_words_and_numbers() -> None:
    numbers, words = (score_answer("tablebench_fc", "12", [gold]) for gold in ("12", "twelve men"))
    assert set(numbers.parts) == set(words.parts)
    assert (numbers.parts["numeric"], words.parts["numeric"]) == (1.0, 0.0)


def test_the_best_of_several_references_counts() -> None:
    assert score("tablebench", "12", ["13", "12"]).value == 1.0
    assert score("tablebench", "red house", ["12", "red house"]).value == 1.0
    assert score("tablebench", "12", ["12", "red house"]).value == 1.0
    assert score("tablebench", "14", ["12", "red house"]).value == 0.0


@given(st.decimals(-(10**9), 10**9, allow_nan=False, places=3), st.booleans())
def test_a_number_equals_itself_however_written(value: Any, percent: bool) -> None:
    sign = "%" if percent else ""
    gold = f"{value}{sign}"
    for reply in (f"{value:,}{sign}", f"{value}000{sign}", f"Final Answer: {value}{sign}"):
        assert score_answer("tablebench_da", reply, [gold]).value == 1.0
    assert score_answer("tablebench_da", f"{value + 1}{sign}", [gold]).value == 0.0
    assert score_answer("tablebench_da", gold + "%", [gold]).value == 0.0


# Reading files

FACTS = {"columns": ["ship", "men"], "data": [["gull", 12], ["tern", None], ["skua", 7.5]]}


def record(number: int = 1, qtype: str = "FactChecking", **changes: Any) -> dict[str, Any]:
    """A row of the version that has neither formatter nor instruction."""
    made: dict[str, Any] = {
        "id": f"q{number}",
        "qtype": qtype,
        "qsubtype": "MatchBased",
        "table": FACTS,
        "question": f"How many men has ship {number}?",
        "answer": str(number),
    }
    return {key: value for key, value in (made | changes).items() if value is not ...}


def with_instruction(number: int = 1, kind: str = "DP", **changes: Any) -> dict[str, Any]:
    text = (
        f"You are an analyst.\n\n\nWrite it like this, {number}. \n\n\nNow read:\n[TABLE]\n\nAsk."
    )
    return record(number, instruction=text, instruction_type=kind, **changes)


def with_formatter(number: int = 1, kind: str = "DP", **changes: Any) -> dict[str, Any]:
    extra = {"table": json.dumps(FACTS), "answer_formatter": f"The form (UN) of {number}."}
    return with_instruction(number, kind, **(extra | changes))


def many(make: Any, count: int = 30, **changes: Any) -> list[dict[str, Any]]:
    return [make(number, **changes) for number in range(1, count + 1)]


def written(folder: Path, **files: Sequence[Any] | str) -> Path:
    """Write files by key `plain`, `dp`, `v2`: rows, or lines as they are among them."""
    for key, content in files.items():
        path = folder / {"plain": PLAIN, "dp": DP, "v2": V2}[key]
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [line if isinstance(line, str) else json.dumps(line) for line in content]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def dataset(name: str = "tablebench_fc") -> TableBench:
    [found] = [one for one in TABLEBENCH if one.name == name]
    return found


def opened(folder: Path, name: str = "tablebench_fc") -> Source:
    return dataset(name).open(folder)


def numbers(source: Source) -> tuple[list[int], list[int]]:
    """The numbers of the evaluated questions and of the pool's."""
    pool = [source.pool[index].id for index in range(len(source.pool))]
    return tuple([int(name[1:]) for name in names] for names in (source.example_ids(None), pool))  # type: ignore[return-value]


def test_names_kinds_and_the_folder_they_share() -> None:
    registry = builtin_registry().datasets
    kinds = {
        "tablebench_da": "DataAnalysis",
        "tablebench_fc": "FactChecking",
        "tablebench_nr": "NumericalReasoning",
    }
    for name, qtype in kinds.items():
        found = registry[name]
        assert isinstance(found, TableBench)
        assert (found.qtype, found.folder, found.benchmark) == (qtype, "tablebench", "torr")
        assert (found.shots, found.limit, found.threshold) == (5, 100, 0.8)


@pytest.mark.parametrize(
    ("key", "make", "formatter", "words"),
    [
        ("plain", record, None, "our own words"),
        ("dp", with_instruction, "Write it like this, 4. ", "field instruction"),
        ("v2", with_formatter, "The form (UN) of 4.", "with answer_formatter"),
    ],
)
def test_a_version_alone(
    tmp_path: Path, key: str, make: Any, formatter: str | None, words: str
) -> None:
    source = opened(written(tmp_path, **{key: many(make)}))
    example = next(
        found
        for found in [source.example(name) for name in source.example_ids(None)]
        + [source.pool[index] for index in range(len(source.pool))]
        if found.id == "q4"
    )
    shown = example.inputs["answer_formatter"]
    if formatter is None:
        assert "Final Answer: " in shown
    else:
        assert shown == formatter
    assert list(example.inputs) == ["table", "question", "answer_formatter"]
    # Cells keep their types, and null is None.
    table = example.inputs["table"]
    assert table == Table(["ship", "men"], [["gull", 12], ["tern", None], ["skua", 7.5]])
    assert [type(cells[1]) for cells in table.rows] == [int, type(None), float]
    assert (example.question, example.references, example.target) == (
        "How many men has ship 4?", ("4",), "4",
    )  # fmt: skip
    assert not source.problems
    assert list(source.facts.files) == [{"plain": PLAIN, "dp": DP, "v2": V2}[key]]
    [note] = source.facts.notes
    assert words in note


def test_the_lottery_makes_pool_and_questions(tmp_path: Path) -> None:
    splits = split_lottery(30)
    assert set(splits) == {"train", "validation", "test"}
    wanted = tuple(
        [number for number, split in enumerate(splits, start=1) if split == name]
        for name in ("test", "train")
    )
    # Rows of other kinds take no part.
    mixed = [
        row
        for number in range(1, 31)
        for row in (record(number), record(900 + number, "Visualization", table=7))
    ]
    assert numbers(opened(written(tmp_path, plain=mixed))) == wanted
    # Each kind has a lottery of its own.
    both = [record(n, kind) for n in range(1, 31) for kind in ("DataAnalysis", "FactChecking")]
    folder = written(tmp_path / "both", plain=both)
    assert numbers(opened(folder)) == numbers(opened(folder, "tablebench_da")) == wanted


def test_a_bad_row_changes_no_other_rows_split(tmp_path: Path) -> None:
    rows: list[Any] = many(record)
    splits = split_lottery(30)
    bad = splits.index("test") + 1
    rows[bad - 1] = record(bad, answer=...)
    tests, pool = numbers(opened(written(tmp_path, plain=rows)))
    assert tests == [n for n, split in enumerate(splits, 1) if split == "test" and n != bad]
    assert pool == [n for n, split in enumerate(splits, 1) if split == "train"]


def test_only_direct_prompting_where_rows_have_types(tmp_path: Path) -> None:
    rows = [
        row
        for number in range(1, 31)
        for row in (with_instruction(number, "TCoT"), with_instruction(number, "DP"))
    ]
    source = opened(written(tmp_path, dp=rows))
    assert numbers(source) == numbers(opened(written(tmp_path / "1", plain=many(record))))
    assert not source.problems
    assert len(source.facts.notes) == 1


def test_another_type_stands_in_for_direct_prompting_and_says_so(tmp_path: Path) -> None:
    source = opened(written(tmp_path, v2=many(with_formatter, kind="TCoT")))
    assert numbers(source) == numbers(opened(written(tmp_path / "1", plain=many(record))))
    assert any("TCoT stands in" in note for note in source.facts.notes)


def test_of_equal_versions_the_one_with_formatter_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path, plain=many(record), v2=many(with_formatter, kind="TCoT"))
    assert list(opened(folder).facts.files) == [V2]
    written(tmp_path, dp=many(with_instruction))
    assert list(opened(folder).facts.files) == [V2]
    (folder / V2).unlink()
    source = opened(folder)
    assert list(source.facts.files) == [DP]
    assert f"left aside: {PLAIN} (30 rows)" in source.facts.notes[0]


def test_a_part_does_not_stand_for_the_whole(tmp_path: Path) -> None:
    folder = written(tmp_path, plain=many(record), dp=many(with_instruction, 29))
    assert list(opened(folder).facts.files) == [PLAIN]
    # Which version is whole is asked for each kind.
    written(tmp_path, dp=many(with_instruction, 2, qtype="DataAnalysis"))
    assert list(opened(folder, "tablebench_da").facts.files) == [DP]


def test_the_same_questions_under_other_instructions_stand_back(tmp_path: Path) -> None:
    folder = written(tmp_path, dp=many(with_instruction, 5))
    text = "".join(json.dumps(row) + "\n" for row in many(with_instruction, 30, kind="PoT"))
    (folder / "TableBench_PoT.jsonl").write_text(text, encoding="utf-8")
    source = opened(folder)
    assert list(source.facts.files) == [DP]
    assert "PoT" not in " ".join(source.facts.notes)


def test_an_id_on_two_rows_gives_two_examples(tmp_path: Path) -> None:
    rows = many(record)
    tests = [n for n, split in enumerate(split_lottery(30), 1) if split == "test"]
    first, second = tests[0], tests[1]
    rows[second - 1] |= {"id": f"q{first}", "qsubtype": "Multi-hop FactChecking"}
    source = opened(written(tmp_path, plain=rows))
    ids = source.example_ids(None)
    assert list(ids[:2]) == [f"q{first}", f"q{first}-2"]
    assert len(set(ids)) == len(ids) == len(tests)
    assert source.example(f"q{first}-2").references == (str(second),)
    assert not source.problems
    assert any(f"q{first}" in note and "more than one row" in note for note in source.facts.notes)


def test_odd_tables_and_names_are_kept(tmp_path: Path) -> None:
    odd = {"columns": ["a", "a", ""], "data": [["x\ny", True, 1e9], [None, "\u2028", -3, "more"]]}
    rows = many(record, table=odd, qsubtype="Multi-hop NumericalReasoing")
    source = opened(written(tmp_path, plain=rows))
    table = source.example(source.example_ids(1)[0]).inputs["table"]
    assert table.header == ("a", "a", "")
    assert table.rows == (("x\ny", True, 1e9), (None, "\u2028", -3, "more"))
    assert not source.problems


def test_line_separators_inside_rows_do_not_end_them(tmp_path: Path) -> None:
    folder = written(tmp_path, plain=[])
    lines = [
        json.dumps(record(n, question="a\u2028b\u0085c"), ensure_ascii=False) for n in range(30)
    ]
    (folder / PLAIN).write_text("\r\n".join(lines) + "\r\n\r\n", encoding="utf-8-sig")
    source = opened(folder)
    assert not source.problems
    assert source.example(source.example_ids(1)[0]).question == "a\u2028b\u0085c"


def test_keys_of_the_pool_are_those_of_its_items(tmp_path: Path) -> None:
    source = opened(written(tmp_path, plain=many(record)))
    assert len(source.pool) > 1
    for index in range(len(source.pool)):
        assert source.pool.key(index) == text_key(source.pool[index])


def test_every_qsubtype_has_a_form_of_answer(tmp_path: Path) -> None:
    def form(qsubtype: str) -> str:
        source = opened(written(tmp_path, plain=many(record, qsubtype=qsubtype)))
        return str(source.example(source.example_ids(1)[0]).inputs["answer_formatter"])

    for qsubtype, words in {
        "MatchBased": "item, item",
        "Multi-hop NumericalReasoing": "item, item",
        "never heard of": "item, item",
        "CorrelationAnalysis": "Weak negative correlation",
        "TrendForecasting": "No clear trend",
        "ImpactAnalysis": "No clear impact",
        "CausalAnalysis": "conclusion first",
        "DescriptiveAnalysis": "main columns",
        "AnomalyDetection": "No anomalies are detected in the table.",
    }.items():
        assert "Final Answer: " in form(qsubtype)
        assert words in form(qsubtype)


# Prompts


def rendered(folder: Path, example_id: str, **settings: Any) -> str:
    run = Runner(Settings(data=folder, **settings), builtin_registry())
    return run.renderer.render(Case("tablebench_fc", example_id, "csv", "none", "m", "id"))[1]


def test_the_whole_prompt(tmp_path: Path) -> None:
    rows = many(with_formatter)
    source = opened(written(tmp_path / "tablebench", v2=rows))
    example_id = source.example_ids(1)[0]
    number = int(example_id[1:])
    text = rendered(tmp_path, example_id)
    table = "ship,men\ngull,12\ntern,\nskua,7.5"
    asked = f"Table: {table} \nQuestion: How many men has ship {number}?\nFinal Answer: "
    assert text.endswith(asked)
    before = text.removesuffix(asked)
    shown = {
        f"Table: {table} \nQuestion: How many men has ship {n}?\nFinal Answer: {n}\n\n"
        for n in numbers(source)[1]
    }
    used = sorted((one for one in shown if one in before), key=before.index)
    assert len(used) == 5
    instruction = before[: before.index(used[0])]
    assert before == instruction + "".join(used)
    # Of all forms of answers only that of the question asked.
    assert f"The form (UN) of {number}." in instruction
    assert text.count("The form (UN)") == 1
    lowered = instruction.lower()
    assert lowered.index("table analyst") < lowered.index("the form (un)")
    assert lowered.index("the form (un)") < lowered.index("only the final answer")
    assert "output of the last" in lowered


def test_brackets_at_the_end_of_a_question_are_lost_in_the_reference_alone(tmp_path: Path) -> None:
    written(tmp_path / "tablebench", plain=many(record, question="Which (UN)"))
    example_id = opened(tmp_path / "tablebench").example_ids(1)[0]
    assert "Question: Which (UN)\nFinal Answer: " in rendered(tmp_path, example_id, shots=0)
    text = rendered(tmp_path, example_id, shots=0, compat="reference")
    assert text.endswith("Question: Which (U\nFinal Answer: ")


def test_braces_in_a_form_are_no_fields(tmp_path: Path) -> None:
    form = "Write {answer_formatter} or {0} or {"
    rows = [with_formatter(n, answer_formatter=form) for n in range(1, 31)]
    written(tmp_path / "tablebench", v2=rows)
    example_id = opened(tmp_path / "tablebench").example_ids(1)[0]
    assert form in rendered(tmp_path, example_id, shots=0)


# What is wrong with a file


def test_no_folder_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"no data in .*tablebench.*tablebench pull tablebench"):
        opened(tmp_path / "tablebench")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"lacks TableBench_DP\.jsonl \(it holds notes\.txt\)"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("version https://git-lfs.github.com/spec/v1", "not valid JSON"),
        ("[1]", "holds list, not an object"),
        ('{"a": 1}', "None is none of DataAnalysis, FactChecking"),
    ],
)
def test_a_file_of_something_else(tmp_path: Path, line: str, words: str) -> None:
    written(tmp_path, plain=[line])
    with pytest.raises(DataError) as caught:
        opened(tmp_path)
    text = str(caught.value)
    assert "no usable row of qtype FactChecking in TableBench.jsonl" in text
    assert f"{PLAIN}, row 1, " in text
    assert words in text
    assert "tablebench pull tablebench" in text


def test_no_row_of_the_kind(tmp_path: Path) -> None:
    written(tmp_path, plain=many(record))
    with pytest.raises(
        DataError, match=r"no usable row of qtype DataAnalysis in TableBench\.jsonl;"
    ):
        opened(tmp_path, "tablebench_da")


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / PLAIN).write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(DataError, match=r"TableBench\.jsonl: not UTF-8"):
        opened(tmp_path)


LINE = json.dumps(record(2))


@pytest.mark.parametrize(
    ("bad", "field", "words"),
    [
        (LINE[: len(LINE) // 2], "line", "not valid JSON, cut off perhaps"),
        ("[" * 100_000, "line", "nested too deeply"),
        ("7", "line", "holds int, not an object"),
        (record(2, id=...), "id", "is missing"),
        (record(2, id=7), "id", "is no text or empty"),
        (record(2, qtype="Chatting"), "qtype", "'Chatting' is none of DataAnalysis"),
        (record(2) | {"qtype": ["FactChecking"]}, "qtype", "is none of"),
        (record(2, qsubtype=...), "qsubtype", "is missing"),
        (record(2, question=" "), "question", "is no text or empty"),
        (record(2, answer=...), "answer", "is missing"),
        (record(2, answer=2), "answer", "is no text or empty"),
        (record(2, table=...), "table", "is not {columns, data}"),
        (record(2, table=[["a"]]), "table", "is not {columns, data}"),
        (record(2, table="a|b"), "table", "not valid JSON"),
        (record(2, table='["a"]'), "table", "holds list, not an object"),
        (record(2, table={"columns": ["a"]}), "table", "is not {columns, data}"),
        (record(2, table={"columns": "ab", "data": []}), "table", "columns is no list of texts"),
        (record(2, table={"columns": [1], "data": []}), "table", "columns is no list of texts"),
        (record(2, table={"columns": ["a"], "data": {}}), "table", "data is no list of rows"),
        (record(2, table={"columns": ["a"], "data": [[1], "x"]}), "table", "row 2 is no list"),
        (record(2, table={"columns": ["a"], "data": [[[1]]]}), "table", "row 1 holds a cell"),
    ],
)
def test_a_bad_row_is_named_and_the_others_stay(
    tmp_path: Path, bad: Any, field: str, words: str
) -> None:
    rows: list[Any] = [record(1), bad, *many(record, 30)[2:]]
    source = opened(written(tmp_path, plain=rows))
    [problem] = source.problems
    text = str(problem)
    assert text.startswith(f"{PLAIN}, row 2, field {field!r}: ")
    assert words in text
    tests, pool = numbers(source)
    assert tests
    assert pool
    assert 2 not in tests + pool


@pytest.mark.parametrize(
    ("make", "changes", "field", "words"),
    [
        (with_formatter, {"answer_formatter": ...}, "answer_formatter", "is missing"),
        (with_formatter, {"answer_formatter": ""}, "answer_formatter", "is no text or empty"),
        (with_formatter, {"instruction_type": ...}, "instruction_type", "is missing or no text"),
        (with_instruction, {"instruction": ...}, "instruction", "is missing"),
        (with_instruction, {"instruction": "Read."}, "instruction", "no part on the form"),
        (
            with_instruction,
            {"instruction": "a\n\n\n \n\n\nb"},
            "instruction",
            "no part on the form",
        ),
    ],
)
def test_a_row_unlike_the_others_of_its_version(
    tmp_path: Path, make: Any, changes: dict[str, Any], field: str, words: str
) -> None:
    rows = many(make)
    rows[1] = make(2)
    for key, value in changes.items():
        if value is ...:
            del rows[1][key]
        else:
            rows[1][key] = value
    source = opened(written(tmp_path, dp=rows))
    [problem] = source.problems
    assert str(problem).startswith(f"{DP}, row 2, field {field!r}: ")
    assert words in str(problem)


def test_an_unknown_question(tmp_path: Path) -> None:
    source = opened(written(tmp_path, plain=many(record)))
    shown = source.pool[0].id
    for name in ("nobody", shown):  # a demonstration is no question of the run
        with pytest.raises(DataError, match=rf"the test part of .* '{name}'"):
            source.example(name)


def test_10000_rows_are_read(tmp_path: Path) -> None:
    source = opened(written(tmp_path, plain=many(record, 10_005)))
    tests, pool = numbers(source)
    assert max(tests + pool) <= 10_000
    assert len(tests) + len(pool) + split_lottery(10_000).count("validation") == 10_000
