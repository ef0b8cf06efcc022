"""Allure results of a run: ids, labels, categories, attachments, sizes."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.allure import _write as writer
from pytest_tablebench.reports.allure import choose_mode, write_allure
from pytest_tablebench.reports.allure._results import history_id, kind_of
from pytest_tablebench.reports.allure._write import ALL_UP_TO, WRONG_UP_TO
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import ExampleText, PromptText
from tests.support.allure_results import (
    RUN,
    STARTED_MS,
    attachments,
    containers,
    labels,
    make,
    results,
    write,
)

TABLE = ({"title": "Ages", "header": ["Name", "Age"], "rows": [["Ada", 36], ["Bo", None]]},)


def test_each_outcome_has_its_status(tmp_path: Path) -> None:
    write(tmp_path, [make("a"), make("b", "wrong"), make("c", "no_answer")])
    assert {name: result["status"] for name, result in results(tmp_path).items()} == {
        "wikitq/a/html/none": "passed",
        "wikitq/b/html/none": "failed",
        "wikitq/c/html/none": "broken",
    }


def test_ids_depend_only_on_the_case(tmp_path: Path) -> None:
    grid = [
        make(f"{n}", config=f"{s}/{p}") for n in range(5) for s in ("html", "csv") for p in "xy"
    ]
    write(tmp_path / "a", grid)
    write(tmp_path / "b", [make(r.example_id, "wrong", f"{r.serializer}/{r.perturbation}", raw="x")
                           for r in grid])  # fmt: skip
    first, second = results(tmp_path / "a"), results(tmp_path / "b")
    assert len(first) == 20
    assert len({result["historyId"] for result in first.values()}) == 20
    assert len({result["testCaseId"] for result in first.values()}) == 20
    for name, result in first.items():
        assert result["historyId"] == second[name]["historyId"] == history_id(name)
        telling = [p["name"] for p in result["parameters"] if not p.get("excluded")]
        assert telling == ["case"]  # Allure 3 computes its id from all other parameters


def test_labels_name_benchmark_dataset_and_configuration(tmp_path: Path) -> None:
    write(tmp_path, [make("a", config="csv/transpose", flags=("truncated",)), make("b")])
    by_name = results(tmp_path)
    assert labels(by_name["wikitq/a/csv/transpose"]) == {
        "epic": "torr",
        "feature": "wikitq",
        "story": "csv",
        "parentSuite": "torr",
        "suite": "wikitq",
        "subSuite": "transpose",
        "severity": "normal",
        "framework": "pytest-tablebench",
        "language": "python",
        "tag": "truncated",
    }
    assert labels(by_name["wikitq/b/html/none"])["severity"] == "critical"


def test_the_duration_is_the_latency(tmp_path: Path) -> None:
    write(tmp_path, [make("a", latency_s=1.25)])
    [result] = results(tmp_path).values()
    assert result["start"] == STARTED_MS
    assert result["stop"] == STARTED_MS + 1250


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (make("a"), None),
        (make("a", "wrong"), "wrong answer"),
        (make("a", "wrong", raw=" \n"), "unreadable answer"),
        (make("a", "wrong", prediction=""), "unreadable answer"),
        (make("a", "wrong", prediction=["", " "]), "unreadable answer"),
        (make("a", "wrong", prediction=[]), "unreadable answer"),
        (make("a", "wrong", prediction=None), "unreadable answer"),
        (make("a", "wrong", prediction=None, metric="assertion"), "wrong answer"),
        (make("a", "wrong", prediction=0), "wrong answer"),
        (make("a", "wrong", prediction="", flags=("truncated",)), "truncated answer"),
        (make("a", "no_answer"), "no answer: timeout"),
        (make("a", "no_answer", reason="rate limit: $(x)"), "no answer: rate-limit----x-"),
        (make("a", "no_answer", reason=None), "no answer: unknown"),
    ],
)
def test_each_case_that_is_not_right_has_one_category(record: Record, kind: str | None) -> None:
    assert kind_of(record) == kind


def test_every_message_matches_exactly_one_category(tmp_path: Path) -> None:
    records = [
        make("a", "wrong", references=("unreadable answer",), raw="no answer: timeout"),
        make("b", "wrong", raw=""),
        make("c", "wrong", flags=("truncated",)),
        make("d", "no_answer"),
        make("e", "no_answer", reason="time"),  # a prefix of another reason
    ]
    write(tmp_path, records)
    rules = json.loads((tmp_path / "categories.json").read_text())
    expected = {
        "a": "Wrong answers",
        "b": "Unreadable answers",
        "c": "Truncated answers",
        "d": "No answer: timeout",
        "e": "No answer: time",
    }
    for name, result in results(tmp_path).items():
        message = result["statusDetails"]["message"]
        matching = [
            rule["name"]
            for rule in rules
            # Allure 2 matches the whole message.
            if result["status"] in rule["matchedStatuses"]
            and re.fullmatch(rule["messageRegex"], message)
        ]
        assert matching == [expected[name.split("/")[1]]]


def test_categories_of_other_tools_are_kept(tmp_path: Path) -> None:
    theirs = {"name": "Flaky", "flaky": True}
    (tmp_path / "categories.json").write_text(json.dumps([theirs, {"name": "Wrong answers"}]))
    for _ in range(2):
        write(tmp_path, [make("a", "wrong")])
    names = [rule["name"] for rule in json.loads((tmp_path / "categories.json").read_text())]
    ours = ["Truncated answers", "Unreadable answers", "Wrong answers"]
    assert names == ["Flaky", *ours, "Right answers that fail a check"]


def test_a_right_answer_has_neither_message_nor_attachment(tmp_path: Path) -> None:
    write(
        tmp_path,
        [make("a", raw="x" * 50_000, prompt_digest="d")],
        texts=[PromptText("d", "Prompt"), ExampleText("wikitq/a/none", "How old?", TABLE)],
    )
    [result] = results(tmp_path).values()
    assert "statusDetails" not in result
    assert "attachments" not in result
    assert not attachments(tmp_path)
    assert not containers(tmp_path)


def test_cases_of_one_table_share_its_attachment(tmp_path: Path) -> None:
    records = [
        make("a", "wrong"),
        make("a", "wrong", "csv/none"),
        make("a", "right", "json/none"),
    ]
    write(tmp_path, records, texts=[ExampleText("wikitq/a/none", "How old is Ada?", TABLE)])
    assert len(attachments(tmp_path)) == 1
    [container] = containers(tmp_path)
    uuids = {name: result["uuid"] for name, result in results(tmp_path).items()}
    assert set(container["children"]) == {
        uuids["wikitq/a/html/none"],
        uuids["wikitq/a/csv/none"],
    }
    [attachment] = container["befores"][0]["attachments"]
    assert (tmp_path / attachment["source"]).read_text() == (
        "How old is Ada?\n\nAges\nName | Age\nAda | 36\nBo | \n"
    )


def test_no_attachment_is_referenced_twice(tmp_path: Path) -> None:
    # Allure 3 shows the second reference to a file as missing.
    records = [make(f"{n % 3}", "wrong", f"s{n}/none", prompt_digest=f"{n % 5}", raw="y" * 9000)
               for n in range(12)]  # fmt: skip
    texts = [
        *(ExampleText(f"wikitq/{n}/none", "Q", TABLE) for n in range(3)),
        *(PromptText(f"{n}", f"Prompt {n}") for n in range(5)),
    ]
    write(tmp_path, records, texts=texts)
    named = [a["source"] for r in results(tmp_path).values() for a in r.get("attachments", ())]
    named += [
        a["source"] for c in containers(tmp_path) for b in c["befores"] for a in b["attachments"]
    ]
    assert len(named) == 12 + 3 + 5  # replies, tables, prompts
    assert max(Counter(named).values()) == 1
    assert all((tmp_path / name).is_file() for name in named)


def test_a_long_reply_is_truncated(tmp_path: Path) -> None:
    write(tmp_path, [make("a", "wrong", raw="x" * 5_000_000)])
    [result] = results(tmp_path).values()
    assert result["statusDetails"]["trace"].endswith("[... 4,992,000 characters more]")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 300_000


def test_attachments_stop_at_their_size_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BUDGET", 25_000)
    write(tmp_path, [make(f"{n}", "wrong", raw=f"{n}" * 10_000) for n in range(4)])
    assert len(attachments(tmp_path)) == 2
    assert len(results(tmp_path)) == 4


def test_prompts_stop_at_their_number_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PROMPTS", 2)
    records = [make(f"{n}", "wrong", prompt_digest=f"{n}") for n in range(4)]
    write(tmp_path, records, texts=[PromptText(f"{n}", f"P{n}") for n in range(4)])
    assert len(attachments(tmp_path)) == 2


MIXED = [
    make("a"),
    make("b"),
    make("c", "wrong"),
    make("d", "no_answer"),
    make("a", "wrong", "csv/none"),
]


def test_the_mode_wrong_lists_failures_and_counts_right_answers(tmp_path: Path) -> None:
    write(tmp_path, MIXED, "wrong")
    by_name = {result["name"]: result["status"] for result in results(tmp_path).values()}
    assert by_name == {
        "html · none: 2 of 4 right": "passed",
        "c · html · none": "failed",
        "d · html · none": "broken",
        "a · csv · none": "failed",
    }


def test_the_mode_summary_has_one_result_per_configuration(tmp_path: Path) -> None:
    texts = [ExampleText("wikitq/c/none", "Q", TABLE)]
    write(tmp_path, [*MIXED, make("e", "no_answer", "json/none")], "summary", texts=texts)
    by_name = {result["name"]: result for result in results(tmp_path).values()}
    assert {name: result["status"] for name, result in by_name.items()} == {
        "html · none: 2 of 4 right": "failed",
        "csv · none: 0 of 1 right": "failed",
        "json · none: 0 of 1 right": "broken",
    }
    steps = [(s["name"], s["status"]) for s in by_name["html · none: 2 of 4 right"]["steps"]]
    assert steps == [
        ("2 right", "passed"),
        ("1 wrong answer", "failed"),
        ("1 no answer: timeout", "broken"),
        ("mean score 0.667 of 3 answers", "passed"),
    ]
    assert not attachments(tmp_path)
    rules = {r["name"]: r for r in json.loads((tmp_path / "categories.json").read_text())}
    for name, category in {
        "html · none: 2 of 4 right": "Wrong answers",
        "json · none: 0 of 1 right": "No answer: timeout",
    }.items():
        message = by_name[name]["statusDetails"]["message"]
        assert re.fullmatch(rules[category]["messageRegex"], message)


def test_models_of_one_run_have_different_ids(tmp_path: Path) -> None:
    for model in ("one", "two"):
        records = [make("a", case_id=f"wikitq/a/html/none/{model}", model=model)]
        write_allure(
            records,
            tmp_path,
            run=RunFacts.from_json({**RUN, "model": model}),
            mode="summary",
        )
    assert len({result["historyId"] for result in results(tmp_path).values()}) == 2


@pytest.mark.parametrize(
    ("cases", "not_right", "mode"),
    [
        (ALL_UP_TO, ALL_UP_TO, "all"),
        (ALL_UP_TO + 1, WRONG_UP_TO, "wrong"),
        (35_000, WRONG_UP_TO + 1, "summary"),
    ],
)
def test_the_default_mode_depends_on_the_number_of_cases(
    cases: int, not_right: int, mode: str
) -> None:
    assert choose_mode(cases, not_right) == mode


def test_an_empty_run_has_no_results(tmp_path: Path) -> None:
    write(tmp_path / "new", [])
    assert not results(tmp_path / "new")


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"cannot write into .*file.*--alluredir"):
        write(tmp_path / "file", [make("a")])


HOSTILE = st.text(alphabet=st.characters(), max_size=40)


@given(HOSTILE, HOSTILE)
def test_any_text_is_escaped_in_every_file(
    tmp_path_factory: pytest.TempPathFactory, text: str, other: str
) -> None:
    folder = tmp_path_factory.mktemp("allure")
    record = make(
        "a", "wrong", raw=text * 10, references=(other,), example_id=text, serializer=other,
        prediction=text, flags=(other,), prompt_digest="d",
    )  # fmt: skip
    table = {"title": text, "header": [other], "rows": [[text, None], [3.5]]}
    texts = [PromptText("d", text), ExampleText(f"wikitq/{text}/none", other, (table,))]
    write(folder, [record], texts=texts)
    assert len(results(folder)) == 1
    for path in folder.iterdir():
        assert re.fullmatch(
            r"[0-9a-f-]{36}-(result|container|attachment)\.(json|txt)|\w+\.\w+",
            path.name,
        )
        shown = path.read_text("utf-8")
        if path.suffix == ".json":
            shown = json.dumps(json.loads(shown), ensure_ascii=False)
        for character in "\x1b\x07\x00\u202e\u2066\u200f\ud800":
            assert character not in shown
