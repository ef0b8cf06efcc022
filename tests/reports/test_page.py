"""The page of a run and the leaderboard, as files: what stands in them, and what does not."""

from __future__ import annotations

import hashlib
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.formats import PAGE, money
from pytest_tablebench.reports.html import _details, board, write_page
from pytest_tablebench.reports.html import _pack as packing
from pytest_tablebench.reports.html._details import _detail, excerpt
from pytest_tablebench.reports.html._page import word_diff
from pytest_tablebench.reports.html.board import write_leaderboard
from pytest_tablebench.results import Record
from pytest_tablebench.results.compare import compare_runs
from pytest_tablebench.results.folder import read_places
from pytest_tablebench.util.names import slug
from tests.support.page_files import Gate, block, changed, page, text_of
from tests.support.page_runs import make_records, record, write_run

# The top


@pytest.mark.parametrize(
    ("states", "title", "look"),
    [
        (["holds"], "Passes: the gate holds", "holds"),
        (["holds", "holds"], "Passes: all 2 gates hold", "holds"),
        (["holds", "undecided"], "Undecided: 1 of 2 gates", "undecided"),
        (["undecided", "fails", "holds"], "Fails: 1 of 3 gates", "fails"),
    ],
)
def test_the_verdict_is_the_worst_state(
    tmp_path: Path, states: list[str], title: str, look: str
) -> None:
    soup = page(tmp_path, [record()], gates=[Gate(state=state) for state in states])
    assert text_of(soup, ".verdict .headline") == title
    assert soup.select_one(f".verdict.{look}") is not None
    assert len(soup.select(".gates tbody tr")) == len(states)


def test_the_verdict_names_the_failing_gate_and_why(tmp_path: Path) -> None:
    soup = page(
        tmp_path, [record()], gates=[Gate(), Gate("b.x >= 1", state="holds", reason="fine")]
    )
    assert text_of(soup, ".verdict .cause") == (
        "all.performance >= 0.5: the interval lies below the bound"
    )


def test_gates_have_the_figures_of_the_terminal(tmp_path: Path) -> None:
    """A count is over cases, with its exact interval; a difference has a sign."""
    count = Gate("all.no_answer <= 0.1", 0.0, 0.1, None, n_cases=12, clopper_pearson=(0, 0.2646))
    less = Gate("d.pass_rate >= baseline - 0.05", 0.04, -0.05, (-0.01, 0.09))
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
    assert text_of(soup, ".verdict.none") == "1 case"


def test_a_tile_has_the_figure_of_the_run_before(tmp_path: Path) -> None:
    old = [record(), record(example_id="e2", outcome="wrong")]
    folders = [
        write_run(tmp_path / name, records, texts=False)
        for name, records in (("old", old), ("new", [record(), record(example_id="e2")]))
    ]
    comparison = compare_runs(*folders)
    write_page(folders[1], tmp_path / "p.html", baseline=folders[0], comparison=comparison)
    soup = BeautifulSoup((tmp_path / "p.html").read_text("utf-8"), "html.parser")
    assert "before 0.500, +0.500" in text_of(soup, ".tiles li")  # right: 1 of 2, then 2 of 2


def test_settings_are_words(tmp_path: Path) -> None:
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


def test_what_no_perturbation_did_is_called_none(tmp_path: Path) -> None:
    soup = page(tmp_path, [record(), record(perturbation="transpose")])
    heads = [cell.get_text() for cell in soup.select(".heat")[1].select("thead th")]
    assert heads == ["none", "transpose"]
    assert "Change from perturbation none" in soup.get_text()
    alone = page(tmp_path / "alone", [record()])
    assert "The only perturbation of this run is none." in alone.get_text()
    assert not any("plain table" in shown.get_text() for shown in (soup, alone))


def test_a_run_that_was_cut_off_says_so(tmp_path: Path) -> None:
    soup = page(tmp_path, [record()], run={"cases_planned": 35, "status": "running"})
    assert "cut off: 1 of 35 cases" in text_of(soup, ".verdict")


def test_perturbations_that_change_the_meaning_have_a_table_of_their_own_only(
    tmp_path: Path,
) -> None:
    cut = {"perturbation": "no_table", "preserves_meaning": False, "outcome": "wrong"}
    turned = [record(perturbation="transpose"), record(example_id="e2", perturbation="transpose")]
    soup = page(
        tmp_path,
        [record(), record(example_id="e2", outcome="wrong"), *turned, record(**cut)],
    )
    tables = {table.find_parent("section").h2.text: [] for table in soup.select("main table")}
    for table in soup.select("main table"):
        tables[table.find_parent("section").h2.text].append(table.get_text(" "))
    assert any("no_table" in text for text in tables["Datasets"])  # "changed meaning"
    assert not any("no_table" in text for text in tables["Serializers and perturbations"])
    [spread] = tables["Ranges, spread and win rates"]
    assert "no_table" not in spread
    assert "transpose 1.000" in " ".join(spread.split())


def test_best_and_worst_of_unequal_numbers_of_answers_say_so(tmp_path: Path) -> None:
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


def test_win_rates_say_over_how_many_examples_they_are(tmp_path: Path) -> None:
    """In `a` csv wins 2 of 3 examples, in `b` 1 of 1; where both are right nobody wins."""
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


def test_cases_that_were_not_asked_are_not_called_unanswered(tmp_path: Path) -> None:
    cells = [("e1", "csv"), ("e1", "html"), ("e2", "csv")]
    records = [record(example_id=e, serializer=s) for e, s in cells]
    soup = page(tmp_path, records, run={"cases_planned": 4, "status": "running"})
    assert soup.abbr is not None
    assert "no answer" not in soup.abbr["title"]
    assert "Some configurations were not asked, or have no answer." in soup.get_text()


def test_means_and_drops_stand_in_the_tables(tmp_path: Path) -> None:
    # Plain 1 and 0, transposed 0 and 0: performance .25, plain .5, a drop of .5.
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


def test_an_unknown_cost_is_unknown_and_never_zero(tmp_path: Path) -> None:
    soup = page(tmp_path, [record()], run={"cost_usd": None})
    assert "unknown" in text_of(soup, ".tiles")
    assert "$0" not in soup.get_text()


# Whatever became of the run


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
        [replace(record(parts={"x": [1]}, cost_usd=float("inf")), outcome="else")],
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
def test_any_run_makes_a_page(tmp_path: Path, records: list[Record]) -> None:
    soup = page(tmp_path, records, texts=False)
    assert block(soup, "index")["count"] == len(records)
    assert text_of(soup, "#shown") == ("1 case" if len(records) == 1 else f"{len(records)} cases")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no run folder"):
        write_page(tmp_path, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [record()])
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"file.*choose another place"):
        write_page(folder, tmp_path / "file" / "report.html")


# Cases


def test_texts_shared_between_cases_are_kept_once(tmp_path: Path) -> None:
    records = list(make_records(["wikitq"], 2, formats=("csv", "html"), changes=("none",)))
    index = block(soup := page(tmp_path, records), "index")
    assert index["count"] == 4
    assert index["columns"]["table"] == [0, 0, 1, 1]
    assert len(block(soup, "t0")) == 2
    # Four prompts, in the blocks of right answers and of others.
    places = index["columns"]["prompt"]
    assert len(set(places)) == 4
    size = index["sizes"]["prompts"]
    assert all(block(soup, f"q{place // size}")[place % size] for place in places)


def test_a_case_holds_reply_reading_reference_parts_and_prompt(tmp_path: Path) -> None:
    [case] = make_records(["wikitq"], 1, formats=("csv",), changes=("none",))
    soup = page(tmp_path, [case])
    index, [detail] = block(soup, "index"), block(soup, "d0")
    assert (detail["id"], detail["reply"]) == (case.case_id, case.raw)
    assert detail["prediction"] == case.prediction
    assert detail["references"] == list(case.references)
    assert detail["parts"] == dict(case.parts)
    prompt = block(soup, "q0")[index["columns"]["prompt"][0]]["text"]
    assert prompt.startswith("Answer the question.")
    assert prompt.endswith(index["examples"][0]["question"])


def test_a_huge_answer_is_cut_and_its_file_named(tmp_path: Path) -> None:
    soup = page(tmp_path, [record(raw="x" * 5_000_000, prediction="y" * 5_000_000)])
    [detail] = block(soup, "d0")
    assert len(detail["reply"]) == len(detail["prediction"]) == 20_000
    assert detail["reply_length"] == detail["prediction_length"] == 5_000_000
    assert "records.jsonl" in text_of(soup, ".about")
    assert (tmp_path / "report.html").stat().st_size < 400_000


def test_replies_are_cut_further_where_all_of_them_are_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_details, "_DETAIL_BUDGET", 30_000)
    noise = [
        "".join(hashlib.sha512(f"{n}/{i}".encode()).hexdigest() for i in range(60))
        for n in range(8)
    ]
    soup = page(tmp_path, [record(example_id=str(n), raw=noise[n]) for n in range(8)])
    index, details = block(soup, "index"), block(soup, "d0")
    assert index["limit"] < 7680
    assert {len(detail["reply"]) for detail in details} == {index["limit"]}
    assert {detail["reply_length"] for detail in details} == {7680}


def test_prompts_of_right_answers_are_left_out_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_RIGHT_PROMPT_BUDGET", 10)
    records = list(make_records(["wikitq"], 6, formats=("csv", "df"), changes=("none",)))
    assert {case.outcome for case in records} >= {"right", "wrong"}
    soup = page(tmp_path, records)
    columns = block(soup, "index")["columns"]
    for outcome, place in zip(columns["outcome"], columns["prompt"], strict=True):
        assert (place == -1) == (outcome == 0)
    assert "prompts did not fit" in text_of(soup, ".about")
    assert "texts.jsonl.gz" in text_of(soup, ".about")


def test_an_example_right_in_some_configurations_only_is_marked(tmp_path: Path) -> None:
    records = [
        record(example_id="mixed", serializer="csv"),
        record(example_id="mixed", serializer="html", outcome="wrong"),
        record(example_id="plain", serializer="csv"),
        record(example_id="plain", serializer="html", outcome="no_answer"),
    ]
    assert block(page(tmp_path, records), "index")["columns"]["marks"] == [1, 1, 0, 0]


# Baseline and stored answers


def test_flips_stand_beside_the_answers_of_the_baseline(tmp_path: Path) -> None:
    now = [record(example_id="a"), record(example_id="b", outcome="wrong", raw="7")]
    then = [
        record(example_id="a", outcome="wrong", raw="six"),
        record(example_id="b", raw="was right"),
    ]
    old = write_run(tmp_path / "old", then)
    new = write_run(tmp_path / "new", now)
    write_page(new, tmp_path / "p.html", baseline=old, comparison=compare_runs(old, new))
    soup = BeautifulSoup((tmp_path / "p.html").read_text(encoding="utf-8"), "html.parser")
    marks = [packing.BETTER, packing.WORSE]
    assert block(soup, "index")["columns"]["marks"] == marks
    same = {"reason": None, "is_same": False, "picture": None}
    same |= {"prediction": "42", "prediction_length": 2}
    assert [detail["before"] for detail in block(soup, "d0")] == [
        {"outcome": 1, "score": 0.0, "reply": "six", "reply_length": 3, **same},
        {"outcome": 0, "score": 1.0, "reply": "was right", "reply_length": 9, **same},
    ]
    cases = [button["data-case"] for button in soup.select(".ids button")]
    assert cases == ["wikitq/b/csv/none", "wikitq/a/csv/none"]


def test_flips_of_slugs_models_and_repeats_stand_at_their_own_case(tmp_path: Path) -> None:
    """Ids hold slugs, the model where a run has several, and the repeat: one key finds them all."""
    example, change = "ETR/2016/page_23.pdf-2", "insert_empty_rows[share=0.5]"
    slugs = f"finqa/{slug(example, 34)}/csv/{slug(change, 24)}"

    def repeats(tail: str, *outcomes: str) -> list[Record]:
        return [
            record(
                case_id=f"{slugs}{tail}" + (f"/r{n}" if n > 1 else ""),
                dataset="finqa",
                example_id=example,
                perturbation=change,
                outcome=outcome,
                repeat=n,
                raw=f"{tail} {n}",
            )
            for n, outcome in enumerate(outcomes, start=1)
        ]

    old = write_run(tmp_path / "old", repeats("/r2", "right", "right", "wrong"))
    new = write_run(tmp_path / "new", repeats("/gpt-4o", "right", "wrong", "right"))
    write_page(
        new,
        tmp_path / "p.html",
        baseline=old,
        comparison=compare_runs(old, new),
        snapshots=[changed(f"{slugs}/gpt-4o/r3", "flipped", "a", "b")],
    )
    soup = BeautifulSoup((tmp_path / "p.html").read_text(encoding="utf-8"), "html.parser")
    columns = block(soup, "index")["columns"]
    ids = [f"{slugs}/gpt-4o", f"{slugs}/gpt-4o/r2", f"{slugs}/gpt-4o/r3"]
    marks = [0, packing.WORSE, packing.BETTER | packing.TURNED]
    assert [flag & ~packing.MIXED for flag in columns["marks"]] == marks
    before = [detail["before"] for detail in block(soup, "d0")]
    assert [(case["outcome"], case["reply"]) for case in before] == [
        *((0, "/r2 1"), (0, "/r2 2"), (1, "/r2 3"))
    ]
    # Every link leads to an id that the index has; what is shown has no model in it.
    links = [button["data-case"] for button in soup.select(".ids button, .changes button")]
    assert links == [ids[1], ids[2], ids[2]]
    assert soup.select(".ids button")[0].text == f"{slugs}/r2"
    assert columns["id"] == ids
    assert columns["repeat"] == [1, 2, 3]


def test_equal_answers_are_said_to_be_equal(tmp_path: Path) -> None:
    assert "No answer differs from its snapshot." in text_of(
        page(tmp_path, [record()], snapshots=[]), "main"
    )


def test_changed_answers_are_listed_flipped_ones_first(tmp_path: Path) -> None:
    changes = [
        changed("wikitq/e1/csv/none", "reworded", "42", "it is 42"),
        changed("wikitq/e2/csv/none", "flipped", "42", "43"),
    ]
    soup = page(tmp_path, [record(), record(example_id="e2")], snapshots=changes)
    assert block(soup, "index")["columns"]["marks"] == [packing.CHANGED, packing.TURNED]
    assert "2 answers differ from their snapshots; 1 of them" in text_of(soup, "main")
    listed = [button.text for button in soup.select(".changes button")]
    assert listed == ["wikitq/e2/csv/none", "wikitq/e1/csv/none"]
    assert [ins.text for ins in soup.select(".changes ins")] == ["43", "it is "]


def test_the_word_diff_holds_both_texts() -> None:
    old, new = "the total is  12 goals", "the sum is  13 goals today"
    pieces = word_diff(old, new)
    assert "".join(words for kind, words in pieces if kind != "new") == old
    assert "".join(words for kind, words in pieces if kind != "old") == new
    assert ("old", "total") in pieces
    assert ("new", "sum") in pieces


def test_the_word_diff_of_long_texts_ends() -> None:
    pieces = word_diff("a b " * 500_000, "b a " * 500_000)
    assert "cut at" in pieces[-1][1]


# Several runs


def test_the_leaderboard_ranks_runs_and_shows_the_figures(tmp_path: Path) -> None:
    names = ["wikitq", "finqa"]
    good = make_records(names, 4, formats=("csv", "html"), model="good", skill=0.95)
    poor = make_records(names, 4, formats=("csv", "html"), model="poor", skill=0.2)
    folders = [write_run(tmp_path / "p", poor), write_run(tmp_path / "javascript:g&", good)]
    (folders[1] / "report.html").touch()
    write_leaderboard(folders, tmp_path / "boards" / "b.html")
    soup = BeautifulSoup((tmp_path / "boards" / "b.html").read_text("utf-8"), "html.parser")
    ranked = [heading.text for heading in soup.select("table")[0].select("tbody th")]
    assert ranked == ["good", "poor"]
    # Rows lead to the pages of their runs, where there are some.
    assert {link["href"] for link in soup.select("table a")} == {"../javascript%3Ag%26/report.html"}
    assert len(soup.select("figure svg")) >= 5
    # The last ones, of many columns, are as wide as they were drawn: 2.9 inches a dataset.
    wide = [float(str(svg["width"])) for svg in soup.select("figure.wide svg")]
    assert wide == pytest.approx([2 * 2.9 * 72] * 2)
    assert "Impact of perturbations" in soup.get_text()
    assert not soup.find_all(["script", "img", "image"])


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaderboards of nothing but tables: the test above draws them all."""
    monkeypatch.setattr(board, "write_plots", lambda *_: {})


def test_equal_models_share_their_rank_and_equal_formats_their_place(
    tmp_path: Path, no_figures: None
) -> None:
    def run(model: str, *scores: float) -> Path:
        formats = ("csv", "html", "json")
        cases = [
            record(model=model, serializer=name, score=score, outcome="wrong", example_id=example)
            for example in ("e1", "e2")
            for name, score in zip(formats, scores, strict=True)
        ]
        return write_run(tmp_path / model, cases)

    folders = [run("a", 0.1, 0.1, 0.4), run("b", 0.2, 0.2, 0.2), run("c", 0.9, 0.9, 0.9)]
    write_leaderboard(folders, tmp_path / "board.html")
    soup = BeautifulSoup((tmp_path / "board.html").read_text(encoding="utf-8"), "html.parser")
    rows = [row.get_text(" ", strip=True) for row in soup.select("table")[0].select("tbody tr")]
    assert [row.split()[:3] for row in rows] == [
        ["1", "c", "0.900"],
        ["2", "=", "a"],
        ["2", "=", "b"],
    ]
    write_page(folders[0], tmp_path / "p.html")
    soup = BeautifulSoup((tmp_path / "p.html").read_text(encoding="utf-8"), "html.parser")
    assert text_of(soup, "[aria-label=Spread] tbody").startswith(
        "wikitq json 0.400 csv and html equal 0.100 0.300"
    )


def test_a_run_without_all_datasets_has_no_rank(tmp_path: Path, no_figures: None) -> None:
    part = make_records(["wikitq"], 2, formats=("csv",), model="part", skill=0.9)
    whole = make_records(["wikitq", "finqa"], 2, formats=("csv",), model="whole", skill=0.1)
    folders = [write_run(tmp_path / "a", part), write_run(tmp_path / "b", whole)]
    write_leaderboard(folders, tmp_path / "board.html")
    soup = BeautifulSoup((tmp_path / "board.html").read_text(encoding="utf-8"), "html.parser")
    rows = [row.get_text(" ", strip=True) for row in soup.select("table")[0].select("tbody tr")]
    assert rows[0].startswith("1 whole")
    assert rows[1].startswith("– part –")


# Numbers


def test_numbers_read_well() -> None:
    assert [PAGE.number(v) for v in (None, 0.12345, -0.5, -0.0001, 1234.5)] == [
        "–", "0.123", "−0.500", "0.000", "1,234.500",
    ]  # fmt: skip
    assert [PAGE.signed(v, 2) for v in (None, 0.126, -0.126, 0.001, 0.0)] == [
        "–", "+0.13", "−0.13", "0.00", "0.00",
    ]  # fmt: skip
    assert [PAGE.percent(v) for v in (None, 0, 0.0345, 1)] == ["–", "0.0 %", "3.5 %", "100.0 %"]
    assert [money(v) for v in (None, 0, 0.00123, 2.5)] == ["unknown", "$0.00", "$0.0012", "$2.50"]
    assert [PAGE.chance(v) for v in (None, 0.0, 0.0005, 0.04)] == [
        "–",
        "< 0.001",
        "< 0.001",
        "0.040",
    ]


def test_long_replies_are_not_held_in_memory(tmp_path: Path) -> None:
    long = "a reply of many words " * 50_000  # 1.1 million characters
    records = [replace(made, raw=long, prediction=long) for made in make_records(["d"], 1)]
    write_run(tmp_path / "run", records)
    del records
    tracemalloc.start()
    kept = [record for _, record in read_places(tmp_path / "run", keep=excerpt)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(kept) > 10
    assert peak < 15_000_000  # one line, and what comes of it
    detail = _detail(kept[0], None, 500)
    assert (detail["reply"], detail["reply_length"]) == (long[:500], len(long))
    assert (detail["prediction"], detail["prediction_length"]) == (long[:500], len(long))
