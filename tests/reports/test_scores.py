"""The lines about parts, consistency and changed meaning, and the table by tag."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.documents.document import Figure
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.scores import further_lines, score_row
from pytest_tablebench.reports.terminal import data_lines
from tests.claims.test_slices import cell, example
from tests.support.printed import summary_lines, tag_lines

RECORDS = [
    *example("e1", "aaab", "a", tags={"kind": "sum"}, parts={"em": 0.5, "judge": 1.0}),
    *example("e2", "xxyz", "x", tags={"kind": "\x1b[31mred"}, parts={"em": 0.5}),
    *example("e3", "abcd", "d", parts={"em": 0.5}),
    cell("e1", "html/no_table", 1.0, preserves_meaning=False),
]


def test_parts_consistency_and_changed_meaning_have_a_line_each():
    scope = summarize(RECORDS)["benchmarks"]["b"]["datasets"]["d"]
    parts, consistency, risk, changed = further_lines("d", scope)
    assert parts.startswith("d: other scores: em 0.500 (")
    assert parts.endswith("judge 1.000, absent in 8 of 12 cases")
    # 3/4, 2/4 and 1/4 agree. The majorities score 1 and 1; four different answers score 1/4.
    assert consistency == (
        "d: 50.0 % of an example's configurations give the same answer; the most common answer "
        "scores 0.750, +0.250 against the mean"
    )
    assert risk == (
        "d: answering only if at least 50.0 % agree: 66.7 % of the examples have an answer, at "
        "risk 0.000 instead of 0.250 for all"
    )
    assert changed == (
        "d: score after a change of meaning (no_table): 1.000, not in the table above"
    )


def test_an_unknown_robustness_has_no_star():
    lost = [replace(row, score=None) for row in RECORDS[:4]]
    scope = summarize(lost)["benchmarks"]["b"]["datasets"]["d"]
    assert "incomplete" in scope["flags"]
    assert score_row(scope)[1] == Figure(None, unit="*")


def test_a_threshold_without_answers_in_a_dataset_has_no_line():
    # "ab" has a majority of 2/4, "cd" one of 1/4, so at 50 % "cd" has no answer.
    records = [*example("e1", "aabc", "a"), *example("e2", "abcd", "a", dataset="other")]
    whole = summarize(records)["benchmarks"]["b"]
    assert {point["risk"] for point in whole["consistency"]["risk"][:-1]} == {None}
    assert not [line for line in further_lines("b (all)", whole) if "abstaining" in line]


def test_a_dataset_declares_which_parts_are_shown():
    scope = summarize(RECORDS)["benchmarks"]["b"]["datasets"]["d"]
    assert further_lines("d", scope, ["judge", "gone"])[0].startswith("d: other scores: judge 1")
    assert "other scores" not in further_lines("d", scope, [])[0]


def test_a_table_by_tag_has_a_row_for_each_value():
    lines = tag_lines(summarize(RECORDS), "kind")
    assert lines[0] == "d by kind"
    names = [line.split("  ")[0] for line in lines[2:]]
    assert names == [r"\x1b[31mred", "sum", "(without)"]
    assert lines[1].split()[-3:] == ["consistency", "em", "judge"]
    assert lines[3].split()[-3:] == ["%", "0.500", "1.000"]
    assert lines[4].split()[-3:] == ["%", "0.500", "-"]


def test_datasets_with_a_single_tag_value_are_rows_of_their_benchmark_only():
    def kinds(*values: str) -> list[str]:
        records = [
            *example("e1", "aaab", "a", tags={"kind": values[0]}),
            *example("e2", "aaab", "a", tags={"kind": values[1]}),
            *example("e3", "ab", "a", tags={"kind": "other"}, dataset="other"),
        ]
        return [line for line in tag_lines(summarize(records), "kind") if " by kind" in line]

    assert kinds("sum", "sum") == ["b (all) by kind"]
    assert kinds("sum", "list") == ["d by kind", "b (all) by kind"]


def test_an_unknown_tag_is_named_with_the_tags_of_the_run():
    with pytest.raises(SettingsError, match="unknown tag 'kin'; did you mean 'kind'"):
        tag_lines(summarize(RECORDS), "kin")
    with pytest.raises(SettingsError, match="no example of this run has a tag"):
        tag_lines(summarize([cell("e", "html", 1.0)]), "kind")


@pytest.mark.parametrize(("datasets", "line_count"), [(6, 6), (7, 0)])
def test_many_datasets_have_no_separate_lines(datasets, line_count):
    records = [
        replace(record, dataset=f"d{number}") for number in range(datasets) for record in RECORDS
    ]
    lines = [line for line in summary_lines(summarize(records)) if "other scores: em" in line]
    assert len(lines) == line_count + 1  # the benchmark's own


def test_a_note_of_several_datasets_is_shown_once():
    facts = {name: {"notes": ["the same", f"of {name}"], "problems": []} for name in ("a", "b")}
    assert data_lines(facts) == ["a, b: the same", "a: of a", "b: of b"]


def test_a_threshold_that_a_dataset_never_reaches_has_no_line():
    records = [*example("e1", "aaaa", "a"), *example("e1", "wxyz", "q", dataset="other")]
    lines = further_lines("b", summarize(records)["benchmarks"]["b"])
    # All four letters agree in one dataset, one of four in the other.
    assert lines[0].startswith("b: 62.5 % of an example's configurations")
    assert not any("abstaining" in line for line in lines)
