"""Programs that draw charts and the values of charts: every expectation was worked out by hand."""

from __future__ import annotations

import ast
import time
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import score
from pytest_tablebench.metrics._chart_code import (
    MAX_PROGRAM,
    Program,
    patched,
    program_of,
    python_block,
    realhit_code,
)
from pytest_tablebench.metrics._chart_values import (
    judge_printed,
    judge_values,
    read_values,
    same_values,
)

NUMBERS = st.lists(st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False))
NESTED: st.SearchStrategy[Any] = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner) | st.tuples(inner, inner),
)


# Programs


def test_the_last_program_of_a_reply() -> None:
    first = "import pandas as pd\na\nplt.show()"
    second = "import pandas as pd\nb\nplt.show()"
    assert realhit_code(f"{first}\nor\n{second}\ndone") == second
    # What is begun and not shown is no program.
    assert realhit_code(f"{first}\nimport pandas as pd") == first
    # From the first import on, not from the last.
    assert realhit_code(f"import pandas as pd\n{first}") == f"import pandas as pd\n{first}"
    assert realhit_code("import pandas as pd\nprint(1)") is None


def test_workbooks_get_the_path_of_the_table() -> None:
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
def test_the_last_block_of_python(reply: str, block: str) -> None:
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
def test_layouts(code: str, published: bool, layout: str, fixed: str) -> None:
    assert program_of(code, "reference").compiles is published
    found = program_of(code, "fixed")
    assert (found.layout, found.code) == (layout, fixed)
    assert program_of(None, "fixed") == Program(None, "no_code", compiles=False)


def test_compiling_runs_nothing_and_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program_of("a = '\\d'\nraise SystemExit", "fixed").compiles
        # This module's own future import is none of the program's.
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
def test_hostile_programs_end_quickly(code: str) -> None:
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
def test_what_python_writes_is_read(values: Any) -> None:
    # An independent reader of literals; tuples and lists are alike here.
    assert read_values(repr(values)) == lists(ast.literal_eval(repr(values)))


def lists(value: Any) -> Any:
    return [lists(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (" [1, -2.5e1,\n3.,]\n", [1, -25.0, 3.0]),
        ("1, 2", [1, 2]),
        ("(1)", 1),
        ("[00, 01.5, 1e3]", [0, 1.5, 1000.0]),
        ("(1,)", [1]),
        ("[(), [True]]", [[], [True]]),
    ],
)
def test_reading_values(text: str, values: Any) -> None:
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
def test_what_holds_no_values(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_values(text)


@pytest.mark.parametrize(
    "text", ["True1", "['a']", "{1}", "1+1", "--1", "__import__('os')", "9" * 5000]
)
def test_what_is_no_number(text: str) -> None:
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
    ],
)
@pytest.mark.parametrize("compat", ["fixed", "reference"])
def test_same_values(wanted: Any, found: Any, shares: bool, same: bool, compat: Any) -> None:
    assert same_values(wanted, found, shares=shares, compat=compat) is same


def test_nan_is_equal_wherever_it_stands_in_fixed_alone() -> None:
    nan = float("nan")
    # Sorting leaves 3, nan, 1 as it is, because no comparison with NaN holds.
    assert same_values([1, 3, nan], [3, nan, 1])
    assert not same_values([1, 3, nan], [3, nan, 1], compat="reference")
    assert same_values([1, nan], [1, nan], compat="reference")


@given(NUMBERS, st.randoms(use_true_random=False))
def test_order_and_structure_play_no_part(values: list[float], random: Any) -> None:
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
    ],
)
def test_verdicts_over_values(values: Any, reference: str, verdict: str) -> None:
    assert judge_values(values, reference, shares=True) == verdict


@pytest.mark.parametrize(
    ("prediction", "compat", "parts"),
    [
        ([2.0, 1.0], "fixed", (1, 1, 0)),
        ([2.0], "fixed", (1, 0, 0)),
        (None, "fixed", (0, 0, 0)),
        ("[1, 2]", "reference", (1, 1, 0)),
        ("hello\n[1, 2]", "reference", (1, 0, 0)),
        ("", "reference", (1, 0, 0)),
        (None, "reference", (0, 0, 0)),
    ],
)
def test_the_score_of_a_chart(prediction: Any, compat: Any, parts: tuple[int, ...]) -> None:
    found = score("realhit_chart", prediction, ["[1, 2]\n"], compat=compat, chart_type="BarChart")
    assert tuple(found.parts.values()) == parts
    assert (found.value, found.part) == (parts[1], "pass@1")
    assert list(found.parts) == ["ecr", "pass@1", "unscorable"]


def test_a_chart_whose_reference_cannot_be_met() -> None:
    found = score("realhit_chart", [1.0], ["[1, masked]"], chart_type="LineChart Generation")
    assert dict(found.parts) == {"ecr": 1, "pass@1": 0, "unscorable": 1}
    assert score("realhit_chart", [1.0], ["[1, masked]"], compat="reference").value == 0


def test_the_score_of_a_chart_of_tablebench() -> None:
    answer = ["y_references = [[30, 70]]"]
    for compat in ("fixed", "reference"):
        found = score("tablebench_chart", [0.7, 0.3], answer, compat=compat, chart_type="pie")  # type: ignore[arg-type]
        assert dict(found.parts) == {"ecr": 1, "pass@1": 1, "unscorable": 0}
        assert score("tablebench_chart", [0.7, 0.3], answer, compat=compat).value == 0  # type: ignore[arg-type]
        assert score("tablebench_chart", None, answer, compat=compat).parts["ecr"] == 0  # type: ignore[arg-type]
    broken = score("tablebench_chart", [1], ["y_references = what"], compat="reference")
    assert dict(broken.parts) == {"ecr": 1, "pass@1": 0, "unscorable": 0}
