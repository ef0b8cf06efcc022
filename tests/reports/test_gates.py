"""The table of gates in a terminal."""

from __future__ import annotations

import re
from html import unescape

from pytest_tablebench.claims.gates import GateResult, judge_gates
from pytest_tablebench.reports._github import summary_markdown
from pytest_tablebench.reports.html._facts import verdict
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.page_files import page
from tests.support.printed import gate_lines
from tests.support.run_folders import GRID, record


def cases(*rows):
    return [
        record(f"e{n}", *configuration, score)
        for n, row in enumerate(rows)
        for configuration, score in zip(GRID, row, strict=True)
    ]


def columns(line):
    return re.split(r"\s{2,}", line.strip())


def test_the_table_has_a_row_and_a_reason_per_gate_and_a_verdict():
    records = cases([1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, None])
    gates = ["toy.performance >= 0.5", "all.no_answer <= 0.05"]
    lines = gate_lines(judge_gates(records, gates), RunFacts())
    assert columns(lines[0])[:3] == ["gate", "state", "estimate"]
    first, second = columns(lines[1]), columns(lines[2])
    assert first[:3] == ["toy.performance >= 0.5", "undecided", "0.6667"]
    assert first[4:] == ["0.5000", "example Clopper-Pearson", "3", "0"]
    # One of twelve: the count decides, and the exact interval is shown.
    assert second[:3] == ["all.no_answer <= 0.05", "fails", "0.0833"]
    assert second[3:] == ["0.0021 to 0.3848", "0.0500", "count", "12 cases", "-"]
    assert lines[3].startswith("  toy.performance >= 0.5: ")
    assert lines[-1] == "1 of 2 gates fails; 1 is undecided."


def test_differences_to_a_baseline_show_their_sign():
    before, after = cases([1, 0, 0, 0], [0] * 4), cases([1, 1, 0, 0], [0, 0, 0, 1])
    [result] = judge_gates(after, ["toy.performance >= baseline - 0.05"], before)
    row = columns(gate_lines([result], RunFacts())[1])
    assert (row[2], row[4]) == ("+0.2500", "-0.0500")


def test_unknown_values_are_dashes_and_text_is_escaped():
    result = GateResult(gate="\x1b[2Jx", value=None, bound=0.5, reason="a\nb\u202e")
    lines = gate_lines([result], RunFacts())
    assert columns(lines[1])[1:5] == ["undecided", "-", "-", "0.5000"]
    assert all(line.isprintable() for line in lines)


def test_every_verdict_names_its_stored_answers_and_unusable_rows():
    result = GateResult(gate="toy.pass_rate >= 0.5", value=0.6, bound=0.5, state="holds")
    run = {
        "model": "m",
        "start": "2026-03-04T12:00:00+00:00",
        "newest_stored": "2026-03-01T10:00:00.000000+00:00",
        "store_hits": 44,
        "cases_recorded": 64,
        "server_check": {"same": None, "text": "not <b>named</b>"},
        "datasets": {"toy": {"problems": ["a", "b"]}, "other": {"problems": []}},
    }
    rows = "left out, because they cannot be used: 2 rows of toy"
    basis = "44 of 64 answers were stored before this run, the newest 3 days ago; not "
    assert gate_lines([result], RunFacts.from_json(run))[-2:] == [f"{basis}<b>named</b>", rows]
    without = run | {"store_hits": 0, "datasets": {}}
    assert gate_lines([result], RunFacts.from_json(without))[-1] == "The gate holds."
    summary = unescape(summary_markdown(RunFacts.from_json(run), {"benchmarks": {}}, [result]))
    notes = "\n".join(verdict([result], RunFacts.from_json(run), [])["notes"])
    assert all(text in place for text in (basis, rows) for place in (summary, notes))


def test_every_report_says_what_decides_an_undecided_gate(tmp_path):
    # All equal: 1 - .025^(1/n) <= .2 from 17 examples on.
    [result] = judge_gates(cases(*[[1] * 4] * 3), ["toy.pass_rate >= 0.8"])
    words = "about 17 examples (14 more) would make the gate hold"
    assert any(f"To decide it: {words}" in line for line in gate_lines([result], RunFacts()))
    assert words in unescape(
        summary_markdown(RunFacts.from_json({"model": "m"}), {"benchmarks": {}}, [result])
    )
    text = page(tmp_path, [], gates=[result]).get_text()
    assert text.count(words) == 2  # in the verdict, and in the table of gates
