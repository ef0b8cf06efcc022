"""Clusters of examples: a shared table, a document, a group of questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.datasets import Example, SourceFacts, cluster_of
from pytest_tablebench.datasets._questions import memory_source, table_question
from pytest_tablebench.datasets.folder import folder_datasets
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.tables.table import Table
from tests.support.slices import needs_slices, runner

QUESTION = "table,question,answer,id,group\n"


def clusters(source):
    return {name: source.example(name).cluster for name in source.example_ids(None)}


def folder(tmp_path: Path, rows: str) -> dict[str, str | None]:
    own = tmp_path / "shop"
    own.mkdir()
    for name in ("a.csv", "b.csv", "c.csv"):
        (own / name).write_text("item,price\ntea,2\ncocoa,3\n")
    (own / "questions.csv").write_text(QUESTION + rows)
    (found,) = folder_datasets(tmp_path)
    return clusters(found.open(own))


def test_in_a_folder_the_table_is_the_cluster(tmp_path):
    rows = "a.csv,What is tea?,2,one,\na.csv,What is cocoa?,3,two,\nb.csv,What is tea?,2,three,\n"
    assert folder(tmp_path, rows) == {
        "one": "shop/a.csv",
        "two": "shop/a.csv",
        "three": "shop/b.csv",
    }


def test_tables_joined_by_a_question_are_one_cluster(tmp_path):
    rows = (
        "b.csv|c.csv,Which is dearer?,tea,both,\n"
        "c.csv,What is tea?,2,one,\n"
        "a.csv,What is tea?,2,other,\n"
        "b.csv,What is tea?,2,more,\n"
    )
    found = folder(tmp_path, rows)
    assert found["both"] == found["one"] == found["more"] == "shop/b.csv"
    assert found["other"] == "shop/a.csv"


def test_a_group_has_priority_over_the_table(tmp_path):
    rows = (
        "a.csv,What is tea?,2,one,price of tea\n"
        "b.csv,What does tea cost?,2,two,price of tea\n"
        "a.csv,What is cocoa?,3,three,\n"
    )
    assert folder(tmp_path, rows) == {
        "one": "shop/group price of tea",
        "two": "shop/group price of tea",
        "three": "shop/a.csv",
    }


def test_in_the_embedded_dataset_the_table_is_the_cluster():
    source = Starter().open(Path())
    found = clusters(source)
    assert len(set(found.values())) == 43
    by_table = {found[name]: source.example(name).inputs["table"].name for name in found}
    assert all(cluster == f"starter/{table}" for cluster, table in by_table.items())


def test_examples_of_other_packages_are_clustered_by_table_content():
    tables = [Table(["a"], [[n]]) for n in (1, 1, 2)]
    examples = [table_question(f"q{n}", table, "?", ["1"]) for n, table in enumerate(tables)]
    first, same, other = (cluster_of(one) for one in examples)
    assert first == same != other
    assert len(first) == 20
    own = table_question("q", tables[0], "?", ["1"], cluster="report 7")
    assert cluster_of(own) == "report 7"
    assert cluster_of(Example("q9", {"question": "?"}, "?", ("1",), "1")) == "q9"
    empty = table_question("q", tables[0], "?", ["1"], cluster="")
    assert cluster_of(empty) == first
    long = table_question("q", tables[0], "?", ["1"], cluster="x" * 500)
    assert len(cluster_of(long)) == 20
    assert memory_source([own], [], SourceFacts({})).example("q").cluster == "report 7"


@needs_slices()
@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("wikitq", lambda example: example.inputs["table"].name),
        ("tabfact", lambda example: example.inputs["table"].name),
        ("finqa", lambda example: example.id.rpartition("-")[0]),
        ("turl_cta", lambda example: example.id.rpartition("-")[0]),
        ("qtsumm", lambda example: dict(example.inputs["table"].extra)["table_id"]),
        ("numericnlg", lambda example: example.id),
        ("scigen", lambda example: example.id),
        ("tablebench_nr", lambda example: repr(example.inputs["table"].rows)),
        ("realhit_fc", lambda example: example.inputs["table"].name),
    ],
)
def test_upstream_datasets_have_clusters(name, shared):
    found = runner("fixed").source(name)
    examples = [found.example(one) for one in found.example_ids(60)]
    named = [cluster_of(example) for example in examples]
    expected = [shared(example) for example in examples]
    assert [named.index(one) for one in named] == [expected.index(one) for one in expected]
    assert max(map(len, named)) <= 80
