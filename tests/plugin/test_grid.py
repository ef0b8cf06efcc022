"""The default grid of a dataset: built in, declared, or extended by a conftest."""

from __future__ import annotations

import pytest

from tests.support.items import ids
from tests.support.toy_bench import ADA, SUITE

SERIALIZERS = ["html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"]
PERTURBATIONS = ["none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"]
"""The grid of the ToRR paper, in its order."""

OWN = """
def pytest_tablebench_register_serializer(register):
    register("names", lambda table: " ".join(table.header))
    register("quiet", lambda table: "-", grid=False)

def pytest_tablebench_register_perturbation(register):
    register("same", lambda table, *, seed=0: table)
"""

DEEP = """
from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question

def pytest_tablebench_register_dataset(register):
    register(TableQuestions("deep", [table_question("q", Table(["A"], [["1"]]), "A?", ["1"])]))

def pytest_tablebench_register_serializer(register):
    register("low", lambda table: "low")
"""


def grid(bench, *arguments: str) -> list[str]:
    """Return the ids of the collected items, without the options of `Bench.run`."""
    bench.data(toy=[ADA])
    result = bench.pytester.runpytest_inprocess("--collect-only", "-q", *arguments)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    return ids(result)


def declare(bench, line: str) -> None:
    bench.adapt(("    threshold = 1.0\n", f"    {line}\n    threshold = 1.0\n"))


def test_formats_of_a_conftest_join_the_grid_of_its_datasets(bench):
    bench.adapt(add=OWN)
    assert grid(bench) == [
        f"ada-{serializer}-{perturbation}"
        for perturbation in [*PERTURBATIONS, "same"]
        for serializer in [*SERIALIZERS, "names"]
    ]


def test_a_dataset_may_declare_its_grid(bench):
    bench.adapt(add=OWN)
    declare(bench, 'serializers, perturbations = ("csv", "quiet"), ("none",)')
    assert grid(bench) == ["ada-csv-none", "ada-quiet-none"]
    declare(bench, 'serializers, perturbations = "csv", "none"')
    assert grid(bench) == ["ada-csv-none"]
    # An option overrides the declaration.
    assert grid(bench, "--bench-serializer=df") == ["ada-df-none"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('serializers = ("cvs",)', "unknown serializer 'cvs'; did you mean 'csv'"),
        ('perturbations = ("truncate_rows[rows=1]",)', "unknown argument 'rows'"),
    ],
)
def test_an_unknown_name_in_a_declared_grid_is_refused(bench, line, message):
    declare(bench, line)
    text = bench.refusal(bench.pytester.runpytest_inprocess("--model=echo/any"))
    assert text.startswith("dataset 'toy': ")
    assert message in text


def test_a_deeper_conftest_extends_only_the_grid_of_its_datasets(bench):
    bench.adapt(add=OWN)
    below = bench.path / "below"
    below.mkdir()
    (below / "conftest.py").write_text(DEEP, encoding="utf-8")
    (below / "test_deep.py").write_text(SUITE.replace('"toy"', '"deep"'), encoding="utf-8")
    item_ids = grid(bench, "--bench-perturbation=none")
    assert [item for item in item_ids if item.startswith("q-")] == [
        f"q-{serializer}-none" for serializer in [*SERIALIZERS, "names", "low"]
    ]
    assert [item for item in item_ids if item.startswith("ada-")] == [
        f"ada-{serializer}-none" for serializer in [*SERIALIZERS, "names"]
    ]


def test_datasets_with_different_defaults_make_one_run(bench):
    bench.data(toy=[ADA], other=[ADA])
    conftest = bench.path / "conftest.py"
    text = conftest.read_text("utf-8")
    text = text.replace(
        'log("ask", request.case_id, request.text)', 'log("ask", dict(request.params))'
    )
    text += "\n\nToy.serializers, Toy.perturbations = ('csv',), ('none',)\n"
    text += "MINE = Toy('other')\nMINE.shots, MINE.params = 2, {'max_tokens': 4096}\n"
    text = text.replace("register(Toy(name))", "register(MINE if name == 'other' else Toy(name))")
    conftest.write_text(text, encoding="utf-8")
    bench.suite(SUITE + SUITE.replace("toy", "other").replace("import pytest\n", ""))
    arguments = ("--model=echo/any", "--bench-results=run", "--bench-no-page", "--bench-store=none")
    result = bench.pytester.runpytest_inprocess(*arguments, "--bench-param=temperature=0.5")
    result.stdout.fnmatch_lines(
        [
            "tablebench: toy: serializers csv, perturbations none (declared); "
            "temperature 0.5 (--bench-param)",
            "tablebench: other: serializers csv, perturbations none, shots 2, max_tokens 4096 "
            "(declared); temperature 0.5 (--bench-param)",
        ]
    )
    # Each request has the parameters of its dataset.
    assert sorted(params["max_tokens"] for [params] in bench.calls("ask")) == [512, 4096]
    facts = bench.facts()["by_dataset"]
    assert (facts["toy"]["shots"], facts["other"]["shots"]) == (0, 2)
    assert facts["other"]["params"] == {"temperature": 0.5, "max_tokens": 4096}
    assert [record["outcome"] for record in bench.records()] == ["right", "right"]
