"""Rates of errors of the rules for replies, from replies that people judged."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.running.judged_replies import judged_replies

ROWS = [
    {"answers": ["12"], "reply": "12", "verdict": "right"},
    {"answers": ["12"], "reply": "13", "verdict": "wrong"},
    {"answers": ["12"], "reply": "12", "verdict": "wrong"},
    {"answers": ["Oslo"], "reply": "Bergen", "verdict": "right"},
]


def test_rates_are_printed_by_kind_of_answer(tmp_path, capsys):
    file = tmp_path / "replies.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    assert main(["judge-replies", str(file)]) == 1
    _, *rows = capsys.readouterr().out.splitlines()
    cells = {row.split("  ")[0]: " ".join(row.split()) for row in rows}
    # scipy.stats.binomtest(1, 2) and (0, 1), exact.
    half = "2 50.0 % 1.3 % to 98.7 %"
    assert cells["number"] == f"number {half} 1 0.0 % 0.0 % to 97.5 % 0"
    assert cells["all"] == f"all {half} {half} 0"


def test_a_table_of_cells_gives_the_format_of_numbers(tmp_path):
    file = tmp_path / "replies.csv"
    file.write_text(
        'answer,reply,verdict,column,cells\n"1,5","1,50",right,Preis,"1,5 | 2,25 | 3,75"\n',
        encoding="utf-8",
    )
    [reply] = judged_replies(file)
    assert (reply.verdict, reply.is_right) == ("right", True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"answers": ["1"], "reply": "1", "verdict": "maybe"}', "line 1: verdict must be right"),
        ('{"answers": ["1"], "reply": "1"}', "line 1: a row needs answers, reply and verdict"),
        ("{", "line 1: is not JSON"),
        (
            '{"answers": ["1"], "reply": "1", "verdict": "right", "settings": {"tolerance": "x"}}',
            "line 1: .*tolerance",
        ),
    ],
)
def test_a_bad_row_is_named(tmp_path, text, words):
    file = tmp_path / "replies.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=words):
        list(judged_replies(file))
