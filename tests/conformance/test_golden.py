"""Every golden record of every kind that can be replayed, and the replaying itself."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.matrix import FULL

from . import (  # noqa: F401 - they register their replays
    hierarchy,
    other,
    realhitbench,
    statistics,
    tablebench,
    torr,
    treb,
    verdicts,
)
from .__main__ import main
from .replay import REPLAYS, SUMMARIES, differences, kind_of, read, replay
from .vectors import COMMITTED, absent, decode, find, folder, read_text

ROOT = Path(__file__).resolve().parents[2]

COUNTS = {
    "analyses.json": {"analysis": 19},
    "gates.json": {
        "clopper_pearson": 6,
        "family": 4,
        "gate": 49,
        "mcnemar": 8,
        "plan": 5,
        "wealth": 8,
    },
    "hierarchy.json": {"real_table": 13, "written_table": 11},
    "metrics.json": {
        "metric.f1_strings": 23,
        "metric.fin_qa": 71,
        "metric.rouge": 58,
        "metric.tab_fact": 17,
        "metric.tab_fact_batch": 5,
        "metric.turl": 25,
        "metric.turl_batch": 8,
        "metric.wikitq": 28,
        "postprocessor": 83,
    },
    "perturbations.json": {"perturbation": 120},
    "prompt_format.json": {"prompt": 9},
    "realhitbench.json": {
        "realhitbench.chart_compare_printed": 47,
        "realhitbench.chart_compare_values": 14,
        "realhitbench.chart_extract": 23,
        "realhitbench.chart_program": 40,
        "realhitbench.judge_parse": 25,
        "realhitbench.reply_parse": 24,
        "realhitbench.retry": 12,
        "realhitbench.text_metric": 94,
    },
    "sampling.json": {"demo_choice": 8, "generator": 6, "split_lottery": 1},
    "serializers.json": {"serializer": 245},
    "tatqa.json": {"tatqa.answer": 200},
    "tablebench.json": {
        "tablebench.by_type": 2,
        "tablebench.chart_compare": 19,
        "tablebench.chart_program": 21,
        "tablebench.em_function": 72,
        "tablebench.final_answer": 18,
        "tablebench.item": 72,
        "tablebench.python_code": 10,
    },
    "treb.json": {
        "treb.bleu": 30,
        "treb.em": 22,
        "treb.icot_exec": 36,
        "treb.icot_parse": 28,
        "treb.icot_steps": 23,
        "treb.instruction_rule": 31,
        "treb.judge_parse": 23,
        "treb.pot_code": 27,
        "treb.pot_exec": 15,
        "treb.question_text": 7,
        "treb.rouge": 30,
        "treb.table_text": 17,
        "treb.tcot_parse": 30,
    },
    "verdicts.json": {"verdict": 144},
    "wikitq_judged.json": {"wikitq_judged": 177},
}
"""How many records of each kind the files hold: none may go unread."""

NOT_COMMITTED = ("realhitbench.chart_program",)
"""Kinds of committed files whose records have rows of a public dataset."""

RUN = ("chart_program", "pot_exec", "icot_exec")
"""Kinds whose records are programs that are run: every sixth, unless all are asked for."""

ALL = [(file, kind) for file, kinds in COUNTS.items() for kind in kinds]


def records(file: str, kind: str) -> list[tuple[str, Any]]:
    path = find(file)
    if path is None or (path.parent == COMMITTED and kind in NOT_COMMITTED):
        pytest.skip(absent(file))
    return [(name, record) for found, name, record in read(path) if found == kind]


@pytest.mark.parametrize(("file", "kind"), ALL, ids=[kind for _, kind in ALL])
def test_every_record_is_equal(file: str, kind: str) -> None:
    found = records(file, kind)
    assert len(found) == COUNTS[file][kind]
    if kind.endswith(RUN) and not FULL:
        found = found[::6]
    different = {name: wrong for name, record in found if (wrong := replay(kind, record))}
    assert different == {}
    if kind in SUMMARIES:
        assert list(SUMMARIES[kind]([record for _, record in found])[1]) == []


@pytest.mark.parametrize("path", sorted(COMMITTED.glob("*.json.gz")), ids=lambda path: path.name)
def test_committed_records_are_those_of_the_whole_collection(path: Path) -> None:
    whole = folder() / path.name.removesuffix(".gz")
    if not whole.is_file():
        pytest.skip(absent(whole.name))
    kept = [
        record
        for record in decode(json.loads(read_text(whole)))
        if kind_of(record) not in NOT_COMMITTED
    ]
    # Texts, because nan is not equal to itself.
    assert json.dumps(decode(json.loads(read_text(path)))) == json.dumps(kept)


def spoiled(value: Any) -> tuple[Any, bool]:
    """A value with its first number, text or truth changed, and whether there was one."""
    if isinstance(value, dict | list):
        places: Any = value if isinstance(value, dict) else range(len(value))
        for place in places:
            value[place], done = spoiled(value[place])
            if done:
                return value, True
        return value, False
    if isinstance(value, bool) or value is None:
        return (not value, True) if value is not None else (value, False)
    return (value + 1e-3 if isinstance(value, int | float) else f"{value}x"), True


@pytest.mark.parametrize(("file", "kind"), ALL, ids=[kind for _, kind in ALL])
def test_a_figure_that_differs_is_found(file: str, kind: str) -> None:
    records_of_kind = records(file, kind)
    for key in ("expected", "expected_fixed", "shuffled_range_10", "answers"):
        whole = [record for _, record in records_of_kind if record.get(key)]
        if whole:
            break
    changed = copy.deepcopy(whole[0])
    changed[key], done = spoiled(changed[key])
    assert done
    assert replay(kind, changed)


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ({"a": [1.0, None]}, []),
        ({"a": [1.0 + 2e-9, None]}, ["/a/0: 1.000000002 instead of 1"]),
        ({"a": [1, 0]}, ["/a/1: 0 instead of None"]),
        ({"a": [True, None]}, ["/a/0: True instead of 1"]),
        ({"a": [1]}, ["/a: 1 entries instead of 2"]),
        ({"a": [1, None], "b": 1}, [": keys ['a', 'b'] instead of ['a']"]),
        ({"a": [float("nan"), None]}, ["/a/0: nan instead of 1"]),
    ],
)
def test_the_comparison_sees_differences(found: Any, wrong: list[str]) -> None:
    assert differences(found, {"a": [1, None]}) == wrong


def test_a_kind_of_several_benchmarks_is_known_by_the_id() -> None:
    assert kind_of({"kind": "gate", "id": "x/1"}) == "gate"
    assert kind_of({"metric": "rouge", "references": []}) == "metric.rouge"
    assert kind_of({"what": 1}) == "unknown"
    assert {"rouge", "unknown"}.isdisjoint(REPLAYS)


def test_the_command_counts_and_names_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"id": "g/1", "kind": "mcnemar", "fixed": 0, "broken": 0, "expected": {"p": 1.0}}
    bad = {"id": "g/2", "kind": "mcnemar", "fixed": 0, "broken": 0, "expected": {"p": 0.5}}
    new = {"id": "g/3", "kind": "tea_leaves", "expected": 1}
    file = tmp_path / "some.json"

    def run(*content: Any) -> tuple[int, list[str]]:
        file.write_text(json.dumps(content), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["tests.conformance", str(file)])
        return main(), capsys.readouterr().out.splitlines()[1:]

    assert run(good) == (0, ["  mcnemar: 1 of 1"])
    code, lines = run(good, bad, new)
    assert code == 1
    assert lines == ["  mcnemar: 1 of 2", "    g/2", "  tea_leaves: 0 of 1", "    g/3"]
