"""Names in options, gates and slices that exist nowhere are refused, with the nearest ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_tablebench.claims.gate_names import (
    check_gates,
    check_part,
    check_selected,
    check_slice,
    check_tests,
)
from pytest_tablebench.claims.gates import parse_gate
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.running.axes import check_names


def check(text: str) -> None:
    check_gates(
        [parse_gate(text)],
        ["finqa", "wikitq"],
        ["torr"],
        {
            # A question without a table has the format `none`.
            "serializers": ["html", "csv", "none"],
            "perturbations": ["none", "transpose"],
            "strategies": ["pot"],
        },
    )


@pytest.mark.parametrize(
    "text",
    ["all.performance >= 0", "torr.performance >= 0", "wikitq[html].performance >= 0",
     "wikitq[transpose][csv].pass_rate >= 0", "wikitq[strategy=pot].pass_rate >= 0",
     "run.cost <= 1"],
)  # fmt: skip
def test_known_names_pass(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wikitqq.performance >= 0", "unknown scope 'wikitqq'; did you mean 'wikitq'"),
        ("wikitq[htm].performance >= 0", "unknown serializer or perturbation 'htm'; did you mean"),
        (
            "wikitq[nonne].performance >= 0",
            "did you mean 'none'? known: csv, html, none, transpose, pot",
        ),
        ("wikitq[html][csv].performance >= 0", "must be of two kinds"),
    ],
)
def test_unknown_names_are_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match="gate ") as caught:
        check(text)
    assert message in str(caught.value)


def test_an_option_names_what_is_registered() -> None:
    check_names("dataset", None, {"finqa": 0})
    check_names("dataset", ("finqa",), {"finqa": 0})
    with pytest.raises(UnknownNameError, match=r"^unknown dataset 'finqaa'; did you mean 'finqa'"):
        check_names("dataset", ("finqa", "finqaa"), {"finqa": 0})
    with pytest.raises(UnknownNameError, match=r"^--bench-threshold: unknown dataset 'x'"):
        check_names("dataset", ("x",), ["finqa"], "--bench-threshold")


def test_a_gate_on_a_test_names_one_of_its_dataset() -> None:
    gate = parse_gate("finqa::test_exact.pass_rate >= 0.5")
    check_tests([gate], {"finqa": ["test_exact"]})
    check_tests([gate], {"wikitq": ["test_other"]})  # no test of the session is over finqa
    with pytest.raises(SettingsError, match="unknown test 'test_exact'; did you mean 'test_exac'"):
        check_tests([gate], {"finqa": ["test_exac"]})


def selected(text: str, **changes: object) -> None:
    facts = {
        "datasets": {"finqa", "wikitq"},
        "members": {"torr": ("finqa", "wikitq")},
        "chosen": None,
        "must_have_cases": True,
    }
    check_selected([parse_gate(text)], {"wikitq"}, {}, **{**facts, **changes})  # type: ignore[arg-type]


def test_a_gate_needs_a_selected_case() -> None:
    for text in ("torr.performance >= 0", "wikitq.performance >= 0", "run.cost <= 1"):
        selected(text)
    with pytest.raises(SettingsError, match="no case of finqa is selected"):
        selected("finqa.performance >= 0")
    selected("finqa.performance >= 0", must_have_cases=False)
    with pytest.raises(SettingsError, match="--bench-dataset leaves finqa out"):
        selected("finqa.performance >= 0", chosen={"wikitq"})


def test_a_slice_needs_an_example() -> None:
    gate = parse_gate("d{subject=air}{task=sum}.performance >= 0")
    rows = [{"subject": "air", "task": "count"}, {"subject": "land", "task": "sum"}]
    with pytest.raises(SettingsError, match="no example of this scope has all these tags"):
        check_slice(gate, rows)

    def examples() -> Iterator[dict[str, str]]:
        yield from rows
        yield {"subject": "air", "task": "sum"}
        pytest.fail("read on behind the first example of the slice")

    check_slice(gate, examples())
    with pytest.raises(SettingsError, match=r"^--bench-gate 'd\{.* has subject=air; .*known: sea"):
        check_slice(gate, [{"subject": "sea"}])


def test_a_part_is_one_of_some_score() -> None:
    gate = parse_gate("d.em >= 0.5")
    check_part(gate, [{"f1": None}, {"em": None}])
    check_part(gate, [{"f1": None}, None])  # a judge gives parts that are unknown before the run
    with pytest.raises(SettingsError, match="no score of this scope has a part 'em'; known: f1"):
        check_part(gate, [{"f1": None}])
