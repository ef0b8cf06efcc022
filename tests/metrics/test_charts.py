"""Programs that draw charts, and the values of charts, against values worked out by hand."""

from __future__ import annotations

import ast
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics._chart_axes import PICTURE, draw
from pytest_tablebench.metrics.chart_values import (
    judge_drawn,
    judge_printed,
    read_values,
    same_values,
)
from pytest_tablebench.metrics.charts import (
    MAX_PROGRAM,
    Program,
    patched,
    program_of,
    python_block,
    realhit_chart,
    realhit_code,
    tablebench_chart,
)
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile

NUMBERS = st.lists(st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False))
NESTED: st.SearchStrategy[Any] = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner) | st.tuples(inner, inner),
)


# Programs


def judge_values(values: Any, reference: Any, *, shares: bool) -> str:
    """Judge a figure with a single reading."""
    return judge_drawn([values], reference, shares=shares)


def test_the_last_program_of_a_reply_is_used() -> None:
    first = "import pandas as pd\na\nplt.show()"
    second = "import pandas as pd\nb\nplt.show()"
    assert realhit_code(f"{first}\nor\n{second}\ndone") == second
    # Code that never shows a chart is no program.
    assert realhit_code(f"{first}\nimport pandas as pd") == first
    # The program starts at the first import, not the last.
    assert realhit_code(f"import pandas as pd\n{first}") == f"import pandas as pd\n{first}"
    assert realhit_code("import pandas as pd\nprint(1)") is None


def test_a_program_that_reads_a_workbook_gets_the_path_of_the_table() -> None:
    path = "a\\1/\\g<0>.xlsx"
    assert patched("f('x.xlsx', 'y')", path) == f"f('{path}', 'y')"
    assert patched('f("x.xlsx", "table.xlsx")', path) == f'f("x.xlsx", "{path}")'


@pytest.mark.parametrize(
    ("reply", "block"),
    [
        ("```python\n1\n```\n```python\n2\n``` end", "2\n"),
        ("```python\n1", ""),
        ("```python \n1\n```", ""),
        ("```python\n1\n```python\n2\n```", "1\n"),  # the second fence closes the first block
    ],
)
def test_the_last_block_of_python_is_used(reply: str, block: str) -> None:
    assert python_block(reply) == block


@pytest.mark.parametrize(
    ("code", "published", "layout", "fixed"),
    [
        ("a = 1\nb = 2", True, "as_given", "a = 1\nb = 2"),
        ("if a:\n    b", False, "as_given", "if a:\n    b"),
        ("a\n  if b:\n    c", False, "dedent", "a\nif b:\n  c"),
        ("a\n if b:\n  c\nd", False, "cut_one_blank", "a\nif b:\n c\nd"),
        ("a\n  b\n c", True, "strip_all", "a\nb\nc"),
        ("a = (", False, "as_given", "a = ("),
        ("a = '\0'", False, "as_given", "a = '\0'"),
        ("a = '\ud800'", False, "as_given", "a = '\ud800'"),
    ],
)
def test_the_layout_of_a_program_is_normalized(
    code: str, published: bool, layout: str, fixed: str
) -> None:
    assert program_of(code, "reference").compiles is published
    found = program_of(code, "fixed")
    assert (found.layout, found.code) == (layout, fixed)
    assert program_of(None, "fixed") == Program(None, "no_code", compiles=False)


def test_compiling_runs_and_prints_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program_of("a = '\\d'\nraise SystemExit", "fixed").compiles
        # The future import of this module does not apply to the program.
        assert not program_of("from __future__ import braces", "fixed").compiles


@pytest.mark.parametrize(
    "code",
    [
        "(" * 50_000,
        "-" * 50_000 + "1",
        "a" + ".a" * 40_000,
        "a" + "[0]" * 30_000,
        "1" + "+1" * 40_000,
        "x = " + "not " * 20_000 + "x",
        "if 1:\n pass\nel" * 5_000 + "se: pass",
        "f'{" * 20_000,
        " " * 90_000,
        "a" * (MAX_PROGRAM + 1),
        "import pandas as pd\n" * 50_000,
        "'a.xlsx" * 50_000,
        "```python\n" * 50_000,
    ],
)
def test_hostile_programs_are_compiled_or_refused_quickly(code: str) -> None:
    start = time.process_time()
    program_of(code, "fixed")
    program_of(code, "reference")
    realhit_code(patched(code, "t.xlsx"))
    python_block(code)
    assert time.process_time() - start < 10


def test_a_program_that_is_too_long_does_not_compile() -> None:
    assert program_of("a" * MAX_PROGRAM, "fixed").compiles
    assert not program_of("a" * (MAX_PROGRAM + 1), "fixed").compiles


@given(st.text(max_size=60))
def test_any_text_is_laid_out(text: str) -> None:
    assert program_of(text, "fixed").code is not None
    assert program_of(text, "reference").layout == "strip_all"


# Values


@given(NESTED)
def test_values_written_by_python_are_read(values: Any) -> None:
    # An independent reader of literals.
    assert read_values(repr(values)) == ast.literal_eval(repr(values))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (" [1, -2.5e1,\n3.,]\n", [1, -25.0, 3.0]),
        ("1, 2", (1, 2)),
        ("(1)", 1),
        ("[00, 01.5, 1e3]", [0, 1.5, 1000.0]),
        ("(1,)", (1,)),
        ("[(), [True]]", [(), [True]]),
    ],
)
def test_values_are_read_in_every_form(text: str, values: Any) -> None:
    assert read_values(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "]",
        "[1",
        "1]",
        "[1)",
        "[,]",
        "[1,,2]",
        "[1 2]",
        "nan",
        "[1, masked]",
        "1x",
        "1..2",
        "01",
    ],
)
def test_text_without_values_has_none(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_values(text)


@pytest.mark.parametrize(
    "text", ["True1", "['a']", "{1}", "1+1", "--1", "__import__('os')", "9" * 5000]
)
def test_text_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_values(text)


@pytest.mark.parametrize("text", ["[" * 300_000, "[1, " * 100_000, "(" * 9 + "1," * 200_000])
def test_hostile_values_end_quickly(text: str) -> None:
    start = time.process_time()
    assert judge_printed(text, text, shares=True) == "unreadable"
    assert judge_values([[[1]]], text, shares=False) == "unscorable"
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("wanted", "found", "shares", "same"),
    [
        ([1, [2, 3]], [3.004, 2, 1], False, True),
        ([1, 1], [1], False, False),
        ([0.125], [0.12], False, True),  # halves of binary numbers go to the even digit
        ([1, 3], [0.75, 0.25], True, True),
        ([1, 3], [1, 3], True, False),
        ([], [], True, True),
        ([True], [1], False, True),
        ((1, 2), [2, 1], False, True),
    ],
)
def test_values_are_equal_within_rounding(
    wanted: Any, found: Any, shares: bool, same: bool
) -> None:
    assert same_values(wanted, found, shares=shares) is same


def test_nan_is_a_value_in_the_published_mode_and_none_in_fixed() -> None:
    nan = float("nan")
    # Sorting does not change 3, nan, 1, because every comparison with NaN is false.
    assert not same_values([1, 3, nan], [3, nan, 1])
    assert same_values([1, nan], [1, nan])
    assert judge_values([[3, nan, 1]], "[[1, 3, nan]]", shares=False) == "true"
    assert judge_values([[3, 1]], "[[1, nan, 3]]", shares=False) == "true"
    assert judge_values([[3, nan]], "[[1, 3]]", shares=False) == "false"
    assert judge_printed("[[1, 3]]", "[[1, 3, nan]]", shares=False) == "unreadable"


def test_tuples_in_a_printed_list_are_unreadable_in_the_published_mode() -> None:
    assert judge_printed("[(1, 2)]", "[1, 2]", shares=False) == "unreadable"
    assert judge_printed("[[1, 2]]", "[(1, 2)]", shares=False) == "unreadable"
    assert judge_printed("[2, 1]", "(1, 2)", shares=False) == "true"
    assert judge_values([[1, 2]], "[(1, 2)]", shares=False) == "true"


@pytest.mark.parametrize(
    ("values", "reference", "verdict"),
    [
        ([[3, 4], [1, 2]], "[[1, 2], [3, 4]]", "true"),  # series in another order
        ([[2, 1], [4, 3]], "[[1, 2], [3, 4]]", "true"),  # values in another order
        ([[1, 4], [3, 2]], "[[1, 2], [3, 4]]", "false"),  # points of the other series
        ([[1, 2, 3, 4]], "[[1, 2], [3, 4]]", "true"),  # drawn as one series
        ([[1, 2], [3, 4], []], "[[1, 2], [3, 4]]", "true"),
        ([[1, 2], [3, 5]], "[[1, 2], [3, 4]]", "false"),
    ],
)
def test_series_are_compared_with_series(values: Any, reference: str, verdict: str) -> None:
    assert judge_values(values, reference, shares=False) == verdict


@pytest.mark.parametrize(
    ("values", "reference", "verdict"),
    [
        # .51, .25 and .25 of 1.01 are .505, .2475 and .2475.
        ([51 / 101, 25 / 101, 25 / 101], "[0.51, 0.25, 0.25]", "true"),
        ([0.508, 0.246, 0.246], "[0.51, 0.25, 0.25]", "true"),
        ([0.508, 0.246, 0.246], "[51, 25, 25]", "true"),
        ([0.508, 0.246, 0.246], "[50.8, 24.6, 24.6]", "true"),
        ([0.54, 0.27, 0.19], "[0.5, 0.3, 0.2]", "true"),  # the reference shows one decimal
        ([0.56, 0.25, 0.19], "[0.5, 0.3, 0.2]", "false"),
        ([0.54, 0.23, 0.23], "[0.51, 0.25, 0.25]", "false"),
        ([0.1, 0.3], "[0.1, 0.3]", "false"),  # no shares of 1
        ([0.25, 0.75], "[0.1, 0.3]", "true"),
        ([0.5, 0.5], "[0, 1]", "false"),  # too coarse for a rounding
    ],
)
def test_pies_show_shares(values: Any, reference: str, verdict: str) -> None:
    assert judge_values(values, reference, shares=True) == verdict


@given(NUMBERS, st.randoms(use_true_random=False))
def test_order_and_structure_do_not_matter(values: list[float], random: Any) -> None:
    shuffled = random.sample(values, len(values))
    half = len(values) // 2
    nested = [shuffled[:half], shuffled[half:]]
    assert judge_values(nested, repr(values), shares=False) == "true"
    assert judge_printed(repr(nested), repr(values), shares=False) == "true"
    assert judge_values([*shuffled, 1.0], repr(values), shares=False) == "false"


@pytest.mark.parametrize(
    ("values", "reference", "verdict"),
    [
        ([1], "5", "unscorable"),
        ([0, 0], "[0, 0]", "unscorable"),  # no shares of nothing
        (["1"], "[1]", "false"),
        (None, "[1]", "false"),
        ([[[1]]], "[1]", "false"),
        ([1.0], "[3]", "true"),
        ([1.0], "[nan]", "false"),
    ],
)
def test_values_have_a_verdict_against_a_reference(
    values: Any, reference: str, verdict: str
) -> None:
    assert judge_values(values, reference, shares=True) == verdict


# Scores, with made-up results of the sandbox

DRAWS = "import pandas as pd\nplt.bar([1, 2], [1, 2])\nplt.show()"
BLOCK = "```python\nplt.bar([1, 2], [1, 2])\n```"


def scored(metric: Any, reply: str, reference: str, ran: Execution, **more: Any) -> Score:
    conversation = metric(reply, [reference], **more)
    step = next(conversation)
    assert isinstance(step, Execute)
    with pytest.raises(StopIteration) as end:
        conversation.send(ran)
    found: Score = end.value.value
    assert (found.value, found.part) == (found.parts["pass@1"], "pass@1")
    return found


def drew(values: Any, output: str = "", *, ran: bool = True) -> Execution:
    return Execution("ok", output, {"ran": ran, "values": values})


@pytest.mark.parametrize(
    ("ran", "compat", "parts", "flags"),
    [
        (drew([2.0, 1.0]), "fixed", (1, 1, 0), ()),
        (drew([2.0], "hello"), "fixed", (1, 0, 0), ()),
        (drew(None), "fixed", (1, 0, 0), ()),
        (Execution("ok", "", "a lie"), "fixed", (1, 0, 0), ()),
        (Execution("ok", "", {"values": {"1": 2}}), "fixed", (1, 0, 0), ()),
        (drew([[1, "2"]]), "fixed", (1, 0, 0), ()),
        (Execution("timeout"), "fixed", (0, 0, 0), ("program_timeout",)),
        (drew([1, 2]), "reference", (1, 1, 0), ()),
        (drew([1, 2], "hello\n"), "reference", (1, 0, 0), ()),
        (drew(None), "reference", (1, 0, 0), ()),
        (Execution("error"), "reference", (0, 0, 0), ("program_error",)),
    ],
)
def test_a_chart_is_scored_by_program_and_values(
    ran: Execution, compat: Any, parts: tuple[int, ...], flags: tuple[str, ...]
) -> None:
    found = scored(
        realhit_chart, DRAWS, "[1, 2]\n", ran, compat=compat, chart_type="BarChart Generation"
    )
    assert dict(found.parts) == dict(zip(("ecr", "pass@1", "unscorable"), parts, strict=True))
    assert found.flags == flags


def test_a_chart_with_an_unreadable_reference_is_marked() -> None:
    given = {"chart_type": "LineChart Generation"}
    found = scored(realhit_chart, DRAWS, "[1, masked]", drew([1.0]), **given)
    assert dict(found.parts) == {"ecr": 1, "pass@1": 0, "unscorable": 1}
    found = scored(realhit_chart, DRAWS, "[1, masked]", drew([1]), compat="reference", **given)
    assert dict(found.parts) == {"ecr": 1, "pass@1": 0, "unscorable": 0}


@pytest.mark.parametrize(
    ("metric", "reply", "flag"),
    [
        (realhit_chart, "I cannot draw.", "no_program"),
        (realhit_chart, DRAWS.replace("2])", "2)"), "program_syntax"),
        (tablebench_chart, "I cannot draw.", "no_program"),
        (tablebench_chart, BLOCK.replace("2])", "2)"), "program_syntax"),
    ],
)
def test_a_reply_without_a_program_is_not_run(metric: Any, reply: str, flag: str) -> None:
    with pytest.raises(StopIteration) as end:
        next(metric(reply, ["[1]"], chart_type="bar"))
    assert end.value.value.flags == (flag,)
    assert end.value.value.parts["ecr"] == 0


def test_a_chart_of_tablebench_is_scored() -> None:
    for compat in ("fixed", "reference"):
        given = (tablebench_chart, BLOCK, "y_references = [[30, 70]]", drew([0.7, 0.3]))
        found = scored(*given, compat=compat, chart_type="pie")
        assert dict(found.parts) == {"ecr": 1, "pass@1": 1, "unscorable": 0, "parse@1": 1}
        assert scored(*given, compat=compat, chart_type="bar").value == 0
    started = (tablebench_chart, BLOCK, "y_references = [[1]]")
    printed = scored(*started, drew([1], "hello"), compat="reference", chart_type="bar")
    assert dict(printed.parts) == {"ecr": 1, "pass@1": 0, "unscorable": 0, "parse@1": 0}
    assert scored(*started, drew([1], "hello"), chart_type="bar").value == 1
    # The second run can succeed after the first one failed.
    second = scored(*started, drew([1], ran=False), compat="reference", chart_type="bar")
    assert (second.parts["ecr"], second.value) == (0, 1)


def test_the_table_is_a_file_beside_the_program() -> None:
    table = TableFile(Table(["a", "b"], [[1, "x"]]))
    step = next(tablebench_chart(BLOCK, ["[1]"], chart_type="bar", table=table))
    assert isinstance(step, Execute)
    assert dict(step.files) == {"table.csv": b"a,b\n1,x\n"}
    step = next(realhit_chart(DRAWS, ["[1]"], chart_type="BarChart", table=table))
    assert isinstance(step, Execute)
    assert list(step.files) == ["table.xlsx"]


# The script that runs a program, run in this process with trusted programs


@pytest.mark.parametrize(("times", "values"), [(1, [1.0, 2.0]), (2, [1.0, 2.0, 1.0, 2.0])])
def test_drawn_values_are_read_from_the_current_axes(
    times: int, values: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    try:
        found = draw("plt.bar([1, 2], np.array([1, 2]))", "BarChart", times=times)
    finally:
        plt.close("all")
    assert (found["ran"], found["values"]) == (True, values)
    assert found["drawn"][0] == [[1.0, 2.0]] * times  # each time is a series
    assert (tmp_path / PICTURE).read_bytes().startswith(b"\x89PNG")
