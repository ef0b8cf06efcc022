"""Case ids and node ids."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.datasets.case import case_ids, cross

TEXTS = st.lists(st.text(st.characters(), max_size=60), unique=True, min_size=1, max_size=6)
PLAIN = re.compile(r"[A-Za-z0-9_.\-]+")


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_ids_are_unique_ascii_and_short_whatever_the_names(examples, formats, changes, models):
    cases, node_ids = cross("toy", examples, formats, changes, models)
    count = len(examples) * len(formats) * len(changes) * len(models)
    assert len(cases) == len(node_ids) == count
    assert len({case.case_id for case in cases}) == count
    assert len(set(node_ids)) == count
    for case, node_id in zip(cases, node_ids, strict=True):
        assert PLAIN.fullmatch(node_id)
        assert len(node_id) < 100
        parts = case.case_id.split("/")
        assert len(parts) == (4 if len(models) == 1 else 5)
        assert all(PLAIN.fullmatch(part) for part in parts)


@given(TEXTS)
def test_the_example_keeps_its_id_when_others_come_or_go(examples):
    together, _ = cross("toy", examples, ["html"], ["none"], ["m"])
    for example, case in zip(examples, together, strict=True):
        [alone], _ = cross("toy", [example], ["html"], ["none"], ["m"])
        assert alone.case_id == case.case_id


def test_the_order_is_by_example_then_perturbation_then_serializer_then_model():
    cases, node_ids = cross("toy", ["b", "a"], ["html", "csv"], ["none", "transpose"], ["x", "y"])
    assert node_ids[:5] == [
        "b-html-none-x",
        "b-html-none-y",
        "b-csv-none-x",
        "b-csv-none-y",
        "b-html-transpose-x",
    ]
    assert cases[0].case_id == "toy/b/html/none/x"
    assert [case.example_id for case in cases] == ["b"] * 8 + ["a"] * 8


def test_a_case_names_what_it_is_made_of():
    [case], _ = cross("toy", ["a b"], ["html"], ["truncate_rows[rows_to_keep=2]"], ["gpt/4"])
    assert (case.dataset, case.example_id, case.serializer) == ("toy", "a b", "html")
    assert (case.perturbation, case.model) == ("truncate_rows[rows_to_keep=2]", "gpt/4")


def test_short_names_that_look_alike_are_numbered_inside_the_limit():
    texts = ["m" * 30 + str(number) for number in range(12)]
    short = case_ids(texts, 20, digest=False)
    assert list(short) == texts
    assert len(set(short.values())) == 12
    assert max(map(len, short.values())) == 20
    assert short[texts[0]] == "m" * 20


def test_ids_stay_short_when_every_name_is_long():
    long = ["n" * 200, "n" * 199 + "m"]
    _, node_ids = cross("toy", long, long, long, long)
    assert len(set(node_ids)) == 16
    assert max(map(len, node_ids)) < 100


def test_a_serializer_decides_the_modality_of_its_cases_if_no_option_does():
    shown = {"csv": ["text"], "picture": ["image"]}
    cases, _ = cross("toy", ["ada"], ["csv", "picture"], ["none"], ["m"], shown=shown)
    assert [(case.case_id, case.modality) for case in cases] == [
        ("toy/ada/csv/none", "text"),
        ("toy/ada/picture/none", "image"),
    ]


@given(TEXTS, TEXTS, TEXTS)
def test_ids_name_strategy_and_modality_where_a_run_has_several(examples, strategies, models):
    cases, node_ids = cross(
        "toy",
        examples,
        ["html", "picture"],
        ["none"],
        models,
        strategies=strategies,
        modalities=["text", "image"],
        shown={"html": ["text"], "picture": ["image", "text"]},
    )
    assert len(cases) == 3 * len(examples) * len(strategies) * len(models)
    assert len({case.case_id for case in cases}) == len(set(node_ids)) == len(cases)
    for case, node_id in zip(cases, node_ids, strict=True):
        assert len(node_id) < 100
        assert PLAIN.fullmatch(node_id)
        parts = case.case_id.split("/")
        assert len(parts) == 5 + (len(strategies) > 1) + (len(models) > 1)
        assert parts[4 + (len(strategies) > 1)] == case.modality


def test_a_strategy_with_other_parameters_never_has_the_id_of_another():
    def ids(*strategies):
        cases, node_ids = cross("toy", ["ada"], ["html"], ["none"], ["m"], strategies=strategies)
        return {
            case.strategy: (case.case_id, node_id)
            for case, node_id in zip(cases, node_ids, strict=True)
        }

    one, two = ids("direct", "icot[max_exec=1]"), ids("icot[max_exec=2]", "direct")
    # In another run, in another order, beside others: it is the same, and its own.
    assert one["direct"] == two["direct"] == ("toy/ada/html/none/direct", "ada-html-none-direct")
    both = ids("icot[max_exec=2]", "icot[max_exec=1]", "icot[max_exec=10]", "icot")
    assert both["icot[max_exec=1]"] == one["icot[max_exec=1]"]
    assert both["icot[max_exec=2]"] == two["icot[max_exec=2]"]
    for place in (0, 1):
        assert len({found[place] for found in both.values()}) == 4
    assert re.fullmatch(r"toy/ada/html/none/icot-[0-9a-f]{8}", one["icot[max_exec=1]"][0])


def test_long_names_of_all_axes_leave_ids_short():
    long = ["n" * 200, "n" * 199 + "m"]
    cases, node_ids = cross(
        "toy", long, long, long, long, strategies=long, modalities=long, repeats=2
    )
    assert len(set(node_ids)) == len({case.case_id for case in cases}) == 2**7
    assert max(map(len, node_ids)) < 100
