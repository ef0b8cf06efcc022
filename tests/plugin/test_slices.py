"""Slices, parts, consistency and changed meaning in a run under workers and in its reports."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.cli import main
from tests.support.gate_bench import options
from tests.support.toy_bench import ADA, BO, CONFTEST, CY, Bench

BLANK = """
from pytest_tablebench.tables.perturbations import changes_meaning


@changes_meaning
def blank(table, *, seed):
    return table.replace(header=["?"], rows=[])


def pytest_tablebench_register_perturbation(register):
    register("blank", blank, grid=False)
"""

GATES = [
    "toy{asks=age}.pass_rate >= 0.1",
    "toy.partial >= 0",
    "toy.consistency >= 0.2",
    "toy.changed_meaning <= 1",
]


def test_reports_show_slices_parts_and_changed_meaning(pytester: pytest.Pytester, capsys) -> None:
    bench = Bench(pytester)
    bench.data(toy=[ADA, BO, CY])
    pytester.makeconftest(CONFTEST + BLANK)
    bench.suite()
    result = bench.run(
        "--model=echo/any",
        "-n1",
        "--bench-serializer=html,csv,json",
        "--bench-perturbation=none,blank",
        *options(GATES),
    )
    assert result.ret == 11, result.stdout.str()
    changed = {record["perturbation"]: record["preserves_meaning"] for record in bench.records()}
    assert changed == {"none": True, "blank": False}
    scope = bench.summary()["benchmarks"]["toys"]["datasets"]["toy"]
    # The model always answers 36, which is right for one of three examples.
    assert scope["performance"] == pytest.approx(1 / 3)
    # Two of the three formats cannot show a blank table: these cases do not apply.
    assert (scope["n_cases"], scope["changed_meaning"]["n_cases"]) == (12, 3)
    assert scope["consistency"]["value"] == 1
    assert scope["parts"]["partial"]["absent"] == 0
    by = scope["tags"]["asks"]["values"]["age"]
    assert {name: by[name] for name in ("performance", "n_cases", "robustness")} == {
        name: scope[name] for name in ("performance", "n_cases", "robustness")
    }
    judged = {gate["gate"]: gate for gate in bench.facts()["gates"]}
    assert [judged[text]["n_examples"] for text in GATES] == [3, 3, 3, 3]
    assert "toy: score after a change of meaning (blank): 0.333" in result.stdout.str()
    folder = str(bench.path / "run")
    lines = (bench.path / "run" / "records.jsonl").read_text("utf-8").splitlines()
    assert main(["report", folder, "--no-plots", "--by", "asks"]) == 0
    shown = capsys.readouterr().out
    assert "toy by asks\n" in shown
    assert any(line.split()[:2] == ["age", "0.333"] for line in shown.splitlines())
    assert main(["report", folder, "--no-plots", "--by", "ask"]) == 2
    assert "unknown tag 'ask'; did you mean 'asks'?" in capsys.readouterr().err
    # The skills of ToRR's Table 1 are three tags, which one name shows.
    skills = ("textual reasoning", "numerical reasoning")
    with (bench.path / "run" / "records.jsonl").open("w", encoding="utf-8") as file:
        for record in [json.loads(line) for line in lines]:
            tags = {**record["tags"], **dict.fromkeys(skills, "partly")}
            file.write(json.dumps({**record, "tags": tags}) + "\n")
    assert main(["report", folder, "--no-plots", "--by", "skill"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("toy by textual reasoning\n") < shown.index("toy by numerical reasoning\n")
    code = main(["rejudge", folder, "--bench-gate", "toys{asks=age}[html].partial >= 0"])
    assert code == 2
    assert "braces contain one tag" in capsys.readouterr().err
