"""The HTML of a run's page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import Record
from tests.support.page_files import block, gate_result, page, text_of
from tests.support.page_runs import record, write_run
from tests.support.present import present

# The first screen


@pytest.mark.parametrize(
    ("states", "title", "look"),
    [
        (["holds"], "Passes: the gate holds", "holds"),
        (["holds", "holds"], "Passes: all 2 gates hold", "holds"),
        (["holds", "undecided"], "Undecided: 1 of 2 gates", "undecided"),
        (["undecided", "fails", "holds"], "Fails: 1 of 3 gates", "fails"),
    ],
)
def test_the_verdict_is_the_worst_state_of_the_gates(
    tmp_path: Path, states: list[str], title: str, look: str
) -> None:
    soup = page(tmp_path, [record()], gates=[gate_result(state=state) for state in states])
    assert text_of(soup, ".verdict .headline") == title
    assert soup.select_one(f".verdict.{look}") is not None
    assert len(soup.select(".gates tbody tr")) == len(states)


def test_the_verdict_names_the_failing_gate_and_its_reason(tmp_path: Path) -> None:
    soup = page(
        tmp_path,
        [record()],
        gates=[gate_result(), gate_result("b.x >= 1", state="holds", reason="fine")],
    )
    assert text_of(soup, ".verdict .cause") == (
        "all.performance >= 0.5: the interval is below the bound"
    )


def test_the_gate_table_has_the_figures_of_the_terminal(tmp_path: Path) -> None:
    """A count is over cases and has an exact interval; a difference has a sign."""
    count = gate_result(
        "all.no_answer <= 0.1", 0.0, 0.1, None, n_cases=12, clopper_pearson=(0, 0.2646)
    )
    less = gate_result("d.pass_rate >= baseline - 0.05", 0.04, -0.05, (-0.01, 0.09))
    rows = page(tmp_path, [record()], gates=[count, less]).select(".gates tbody tr")
    cells = [[cell.get_text() for cell in row.select("[data-label]")] for row in rows]
    assert cells == [
        ["0.000", "0.000 to 0.265", "0.100", "12 cases"],
        ["+0.040", "−0.010 to +0.090", "−0.050", "9"],
    ]


def test_a_run_without_gates_has_no_headline(tmp_path: Path) -> None:
    soup = page(tmp_path, [record()])
    assert soup.title is not None
    assert soup.title.get_text() == "m"
    assert soup.select(".headline, .mark, .gates") == []
    box = text_of(soup, ".verdict.none")
    assert box.startswith("This run has no gate, so it neither passes nor fails.")
    assert 'Add --bench-gate="all.pass_rate >= 0.8" to the pytest command' in box
    assert box.endswith("1 case")


def test_the_first_box_names_skipped_cases_unusable_rows_and_stored_answers(tmp_path: Path) -> None:
    lost = [record(example_id=f"e{n}", outcome="no_answer", reason="skipped") for n in (2, 3)]
    late = record(example_id="e4", outcome="no_answer", reason="timeout")
    run = {
        "store_hits": 1,
        "newest_stored": "2026-02-26T10:00:00+00:00",
        "datasets": {"wikitq": {"problems": ["row 3: no answer"]}},
    }
    soup = page(tmp_path, [record(), late, *lost], run=run)
    assert [line.get_text() for line in soup.select(".verdict p:not(.cause)")] == [
        "4 cases",
        "no answer by reason: skipped 2, timeout 1",
        "left out, because they cannot be used: 1 row of wikitq",
        "1 of 4 answers was stored before this run, the newest 3 days ago",
    ]


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ({"a": [1, 1, 0, 1]}, "pass rate 75.0 %: 3 of 4 answers are right"),
        # (1 + 1/2) / 2
        ({"a": [1, 1, 1], "b": [1, 0]}, "75.0 %, the mean of 2 datasets; 4 of 5 answers are right"),
        ({"a": []}, "no answer is right or wrong"),
    ],
)
def test_a_pass_rate_says_what_it_is_the_mean_of(
    tmp_path: Path, outcomes: dict[str, list[int]], text: str
) -> None:
    records = [
        record(dataset=name, example_id=str(n), outcome="right" if value else "wrong")
        for name, values in outcomes.items()
        for n, value in enumerate(values)
    ]
    lost = record(dataset="a", example_id="lost", outcome="no_answer")
    assert text in text_of(page(tmp_path, [*records, lost]), ".tiles li")


def test_a_pass_rate_counts_each_example_once_and_no_changed_meaning(tmp_path: Path) -> None:
    """In csv both examples are right, in html one is wrong: (1 + 1/2) / 2, and 2 of 3 answers."""
    records = [record(), record(example_id="e2"), record(serializer="html", outcome="wrong")]
    records.append(record(perturbation="no_table", preserves_meaning=False, outcome="wrong"))
    tile = text_of(page(tmp_path, records), ".tiles li")
    assert "pass rate 75.0 %, the mean over examples; 2 of 3 answers are right" in tile


def test_a_gate_has_its_whole_reason_its_notes_and_its_method_explained(tmp_path: Path) -> None:
    reason = "contains the bound; " + "x" * 900 + " about 40 more examples would decide it"
    gate = gate_result(
        state="undecided", method="zero variance", reason=reason, notes=("one <b> table",)
    )
    soup = page(tmp_path, [record()], gates=[gate])
    assert text_of(soup, ".gates .why") == f"{reason} one <b> table zero variance"
    assert reason in text_of(soup, ".verdict .cause")
    [hint] = soup.select("[aria-labelledby=h-gates] .hint")
    assert hint.get_text().startswith("zero variance: all examples have the same score")


def test_a_tile_has_the_figure_of_the_baseline(tmp_path: Path) -> None:
    old = [record(), record(example_id="e2", outcome="wrong")]
    folders = [
        write_run(tmp_path / name, records, texts=False)
        for name, records in (("old", old), ("new", [record(), record(example_id="e2")]))
    ]
    comparison = compare_runs(*folders)
    write_page(folders[1], tmp_path / "p.html", baseline=folders[0], comparison=comparison)
    soup = BeautifulSoup((tmp_path / "p.html").read_text("utf-8"), "html.parser")
    assert "before 0.500, +0.500" in text_of(soup, ".tiles li")  # right: 1 of 2, then 2 of 2


def test_the_first_screen_shows_score_interval_and_worst_configuration(tmp_path: Path) -> None:
    """All examples are right in html and wrong in csv, so the serializer is the worst axis."""
    records = [
        record(example_id=f"e{number}", serializer=serializer, outcome=outcome)
        for number in range(20)
        for serializer, outcome in (("html", "right"), ("csv", "wrong"))
    ]
    soup = page(tmp_path, records)
    good, sure, breaks = (item.get_text(" ", strip=True) for item in soup.select(".answers li"))
    assert good.startswith(
        "How good is it? 0.500 torr: mean score (performance) pass rate 50.0 %: 20 of"
    )
    assert sure.startswith("How sure is that? 0.")
    assert sure.endswith("from 20 examples")
    assert breaks.startswith("What breaks it? serializer csv: 0.000 −0.500 against the mean")
    assert "torr: robustness 0.000" in breaks
    assert text_of(soup, ".taken").startswith("no answer: 0.0 % (0 cases) · cost: ")


def test_settings_are_written_in_words(tmp_path: Path) -> None:
    params = {"temperature": 0.3, "stop": ["\n"], "think": True, "user": "é"}
    soup = page(tmp_path, [record()], run={"params": params})
    settings = dict(
        zip(
            (name.get_text() for name in soup.select(".about dt")),
            (value.get_text() for value in soup.select(".about dd")),
            strict=True,
        )
    )
    assert settings["params"] == 'temperature 0.3, stop ["\\n"], think true, user é'


def test_cases_are_in_the_order_of_the_run(tmp_path: Path) -> None:
    cells = [("e9", "html", "none"), ("e1", "html", "transpose"), ("e9", "csv", "none")]
    records = [record(example_id=e, serializer=s, perturbation=p) for e, s, p in cells]
    index = block(page(tmp_path, records), "index")
    assert index["columns"]["id"] == [record.case_id for record in records]
    assert [index["examples"][number]["id"] for number in index["columns"]["example"]] == [
        "e9",
        "e1",
        "e9",
    ]


def test_cases_without_a_perturbation_are_labelled_none(tmp_path: Path) -> None:
    soup = page(tmp_path, [record(), record(perturbation="transpose")])
    heads = [cell.get_text() for cell in soup.select(".heat")[1].select("thead th")]
    assert heads == ["none", "transpose"]
    assert "Change from perturbation none" in soup.get_text()
    alone = page(tmp_path / "alone", [record()])
    assert "The only perturbation of this run is none." in alone.get_text()
    assert not any("plain table" in shown.get_text() for shown in (soup, alone))


def test_a_run_cut_off_is_marked(tmp_path: Path) -> None:
    soup = page(tmp_path, [record()], run={"cases_planned": 35, "status": "running"})
    assert "interrupted: 1 of 35 cases" in text_of(soup, ".verdict")


def test_perturbations_that_change_the_meaning_have_a_separate_table(
    tmp_path: Path,
) -> None:
    cut = {"perturbation": "no_table", "preserves_meaning": False, "outcome": "wrong"}
    turned = [record(perturbation="transpose"), record(example_id="e2", perturbation="transpose")]
    soup = page(
        tmp_path,
        [record(), record(example_id="e2", outcome="wrong"), *turned, record(**cut)],
    )
    tables: dict[str, list[str]] = {}
    for table in soup.select("main table"):
        title = present(present(table.find_parent("section")).h2).text
        tables.setdefault(title, []).append(table.get_text(" "))
    assert any("no_table" in text for text in tables["Datasets"])  # "changed meaning"
    assert not any("no_table" in text for text in tables["Serializers and perturbations"])
    [spread] = tables["Ranges, spread and win rates"]
    assert "no_table" not in spread
    assert "transpose 1.000" in " ".join(spread.split())


def test_best_and_worst_over_unequal_numbers_of_answers_have_a_note(tmp_path: Path) -> None:
    cells = [record(), record(serializer="html", outcome="wrong")]
    equal = page(tmp_path / "equal", cells)
    cells += [record(serializer="html", example_id=f"e{n}", outcome="wrong") for n in (2, 3)]
    unequal = page(tmp_path / "unequal", cells)
    texts = [
        " ".join(soup.select("section:has(#ranges) tbody")[0].text.split())
        for soup in (equal, unequal)
    ]
    assert "answers" not in texts[0]
    assert "over 1 to 3 answers" in texts[1]


def test_win_rates_name_their_number_of_examples(tmp_path: Path) -> None:
    """In `a` csv wins 2 of 3 examples, in `b` 1 of 1; if both are right it is a tie."""
    records = [
        record(
            dataset=dataset,
            example_id=example,
            serializer=serializer,
            outcome="right" if serializer == "csv" or draw else "wrong",
        )
        for dataset, example, draw in (("a", "1", 0), ("a", "2", 0), ("a", "3", 1), ("b", "1", 0))
        for serializer in ("csv", "html")
    ]
    titles = [caption.text for caption in page(tmp_path, records).select("figcaption")]
    assert "Win rates of serializers, over 1 to 2 examples of each dataset" in titles


def test_cases_not_asked_are_not_labelled_unanswered(tmp_path: Path) -> None:
    cells = [("e1", "csv"), ("e1", "html"), ("e2", "csv")]
    records = [record(example_id=e, serializer=s) for e, s in cells]
    soup = page(tmp_path, records, run={"cases_planned": 4, "status": "running"})
    assert "* Some configurations were not asked, or have no answer." in soup.get_text()
    whole = page(tmp_path / "whole", [record()])
    assert "* Some" not in whole.get_text()
    assert "– Robustness needs at least two answers" in whole.get_text()


def test_the_tables_have_means_and_drops(tmp_path: Path) -> None:
    # Unperturbed 1 and 0, transposed 0 and 0: performance .25, unperturbed .5, a drop of .5.
    cells = [("e1", "none", 1), ("e2", "none", 0), ("e1", "transpose", 0), ("e2", "transpose", 0)]
    soup = page(
        tmp_path,
        [
            record(example_id=e, perturbation=p, outcome="right" if v else "wrong", score=float(v))
            for e, p, v in cells
        ],
    )
    rows = [" ".join(row.get_text(" ").split()) for row in soup.select("table tbody tr")]
    assert any(row.startswith("wikitq 0.250") and "25.0 %" in row for row in rows)
    maps = soup.select(".heat")
    assert text_of(maps[0], "tbody tr") == "wikitq 0.25"
    assert text_of(maps[1], "tbody tr") == "wikitq 0.50 −0.50"
    cell = maps[1].select_one("tbody td:last-child")
    assert cell is not None
    assert cell["class"] == ["n20"]  # full colour from .3 on
    # robustness: 1 - (1 - 0) for e1, 1 for e2
    assert any("0.500" in row for row in rows if row.startswith("wikitq"))


def test_an_unknown_cost_is_shown_as_unknown_and_not_as_zero(tmp_path: Path) -> None:
    soup = page(tmp_path, [record()], run={"cost_usd": None})
    assert "unknown" in text_of(soup, ".taken")
    assert "$0" not in soup.get_text()


# Damaged and empty runs


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record()],
        [record(outcome="no_answer"), record(example_id="e2", outcome="no_answer")],
        [record(example_id=str(n), score=0.5, outcome="wrong") for n in range(3)],
        [record(perturbation="transpose"), record(perturbation="shuffle_rows")],
        [record(parts={"f1": float("nan")}, prediction=["a", 1], latency_s=0.0)],
        [record(case_id="one"), record(case_id="two")],
        [replace(record(parts={"x": [1]}, cost_usd=float("inf")), outcome="else")],  # type: ignore[arg-type]
    ],
    ids=[
        "empty",
        "one",
        "unanswered",
        "one-configuration",
        "no-plain",
        "odd-values",
        "repeated",
        "not-ours",
    ],
)
def test_every_run_has_a_page(tmp_path: Path, records: list[Record]) -> None:
    soup = page(tmp_path, records, texts=False)
    assert {cell.get_text() for cell in soup.select("td")}.isdisjoint({"None", "nan"})
    assert block(soup, "index")["count"] == len(records)
    assert text_of(soup, "#shown") == ("1 case" if len(records) == 1 else f"{len(records)} cases")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="not a run folder"):
        write_page(tmp_path, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [record()])
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"file.*choose another place"):
        write_page(folder, tmp_path / "file" / "report.html")
