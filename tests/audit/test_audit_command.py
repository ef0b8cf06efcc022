"""`tablebench audit`: the ranking of runs over the embedded dataset, its output and bad input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.audit._collect import add_other
from pytest_tablebench.audit.ranking import audit_runs
from pytest_tablebench.cli import main
from pytest_tablebench.datasets import Example, row_digest
from pytest_tablebench.results.corrections import Correction, write_corrections
from tests.audit.audit_runs import audited, record_of, write_starter_run
from tests.support.runs import examples

NUMBERS = 40
WRONG = 3
"""The example about whose answer all models agree against the gold."""


def replies(model: int) -> list[tuple[Example, str]]:
    """Return right answers, except some errors of this model alone, and one of all models."""
    pairs = []
    for number, example in enumerate(examples(NUMBERS)):
        reply = ", ".join(example.references)
        if number % 7 == model + 4:
            reply = f"error {number} {model}"
        pairs.append((example, "松原" if number == WRONG else reply))
    return pairs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("audit")
    return [write_starter_run(folder / f"m{model}", replies(model)) for model in range(3)]


def audit(runs: Sequence[Path], *options: str) -> int:
    return main(["audit", *map(str, runs), *options])


def test_the_answer_that_all_models_give_against_the_gold_is_first(runs: list[Path]) -> None:
    result = audit_runs(runs)
    first, second = result.suspects[:2]
    example = examples(NUMBERS)[WRONG]
    assert first.example_id == example.id
    assert first.suspicion > 0.5 > second.suspicion
    assert first.digest == row_digest(example)
    assert first.gold == example.references
    assert [(group.answer, group.voters) for group in first.groups] == [
        ("松原", ("m0", "m1", "m2"))
    ]
    assert [suspect.suspicion for suspect in result.suspects] == sorted(
        (suspect.suspicion for suspect in result.suspects), reverse=True
    )
    assert len(result.suspects) == NUMBERS


def test_the_order_of_runs_does_not_matter(runs: list[Path]) -> None:
    assert audit_runs(runs) == audit_runs(runs[::-1])


def test_the_command_prints_a_table(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(runs, "--top", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "40 examples; voters: m0, m1, m2"
    first = lines.index(f"starter/{examples(NUMBERS)[WRONG].id}")
    assert lines[first + 3] == "  preferred: 松原"
    assert lines[first + 4].startswith("  main reason: 3 of 3 voters answer 松原")
    assert len([line for line in lines if line.startswith("starter/")]) == 2
    assert lines[-1].startswith("note: no run executed programs")


def test_all_suspects_are_written_as_json(runs: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "audit.json"
    assert audit(runs, "--json", str(file), "--dataset", "starter") == 0
    data = json.loads(file.read_text())
    assert data["schema"] == 1
    assert data["voters"] == ["m0", "m1", "m2"]
    assert len(data["suspects"]) == NUMBERS
    first = data["suspects"][0]
    assert (first["dataset"], first["preferred"]) == ("starter", "松原")
    assert first["evidence"][0]["kind"] == "agreement"
    assert first["groups"][0] == {
        "answer": "松原",
        "cases": 3,
        "voters": ["m0", "m1", "m2"],
        "is_gold": False,
    }


def test_a_higher_prior_raises_all_suspicions(runs: list[Path]) -> None:
    low, high = (audit_runs(runs, prior=prior) for prior in (0.01, 0.3))
    after = {suspect.example_id: suspect.suspicion for suspect in high.suspects}
    assert all(suspect.suspicion < after[suspect.example_id] for suspect in low.suspects)


def test_one_run_of_one_model(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(runs[:1]) == 0
    output = capsys.readouterr().out
    assert "note: one run of one model: agreement between models cannot be used" in output
    assert "assumed share of wrong golds 0.050" in output
    [result] = [audit_runs(runs[:1])]
    kinds = {item.kind for suspect in result.suspects for item in suspect.evidence}
    assert "agreement" not in kinds


def test_runs_without_common_examples(runs: list[Path], tmp_path: Path) -> None:
    first, second = replies(0)[:10], replies(1)[10:20]
    paths = [write_starter_run(tmp_path / "a", first), write_starter_run(tmp_path / "b", second)]
    result = audit_runs(paths)
    assert len(result.suspects) == 20
    assert result.notes[0].startswith("the runs have no examples in common")


def test_seeds_of_one_model_are_voters_that_count_little(runs: list[Path], tmp_path: Path) -> None:
    paths = [
        write_starter_run(tmp_path / f"s{seed}", replies(0), model="m0", facts={"seed": seed})
        for seed in (1, 2, 3)
    ]
    same = audit_runs(paths)
    assert same.voters == ("m0 seed 1", "m0 seed 2", "m0 seed 3")
    wrong = examples(NUMBERS)[WRONG].id
    weak, strong = (
        next(suspect.suspicion for suspect in result.suspects if suspect.example_id == wrong)
        for result in (same, audit_runs(runs))
    )
    assert weak < 0.6 * strong


def test_cases_that_change_the_question_do_not_vote(tmp_path: Path) -> None:
    example, other = examples(2)
    run = write_starter_run(tmp_path / "m", [(example, "x"), (other, "y")])
    changes: dict[str, dict[str, Any]] = {
        "html": {"preserves_meaning": False},
        "json": {"perturbation": "counterfactual"},
        "df": {"outcome": "no_answer", "score": None, "passed": None},
        "concat": {"outcome": "scored", "passed": None},
    }
    lines = [
        record_of(example, "lost", model="m", serializer=name, **fields).to_line()
        for name, fields in changes.items()
    ]
    with (run / "records.jsonl").open("a") as file:
        file.writelines(lines)
    result = audit_runs([run])
    answers = {group.answer for suspect in result.suspects for group in suspect.groups}
    assert answers == {"x", "y"}


def test_only_a_different_gold_elsewhere_is_added() -> None:
    example = examples(1)[0]
    item = audited(example)
    add_other(item, "elsewhere", ("1970",))
    add_other(item, "elsewhere", (f" {example.references[0]}.0 ",))
    assert [(other.place, other.answer) for other in item.others] == [("elsewhere", "1970")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "starte"], "unknown dataset 'starte'; did you mean 'starter'?"),
        (
            ["--bench-data", "nowhere", "--json", f"{__file__}/audit.json"],
            f"--json: cannot write {__file__}/audit.json",
        ),
    ],
)
def test_bad_options(
    options: list[str], message: str, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(runs, *options) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("share", ["0", "1", "1.5", "half"])
def test_a_prior_is_a_share(
    share: str, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        audit(runs, "--prior", share)
    assert "is not a number between 0 and 1" in capsys.readouterr().err


def test_folders_without_answers(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit([tmp_path]) == 2
    assert "is not a run folder" in capsys.readouterr().err
    empty = write_starter_run(tmp_path / "empty", [])
    assert audit([empty]) == 2
    assert "no recorded answer, so there is nothing to audit" in capsys.readouterr().err
    assert audit([empty, *runs]) == 0
    assert f"note: {empty}: no recorded answer" in capsys.readouterr().out


def test_datasets_that_cannot_be_opened_are_left_out(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = examples(1)[0]
    gone = [(replace(example, id=f"x{n}"), "y") for n in range(2)]
    other = write_starter_run(tmp_path / "other", gone, dataset="gone")
    assert audit([*runs, other]) == 0
    output = capsys.readouterr().out
    assert "note: gone is left out: it is neither registered here nor a folder of" in output
    changed = {"datasets": {"starter": {"files": {"tables.jsonl": "0" * 64}}}}
    other = write_starter_run(tmp_path / "changed", replies(0), facts=changed)
    assert audit([other]) == 0
    output = capsys.readouterr().out
    assert "note: starter is left out: starter: tables.jsonl" in output
    assert "note: no example of these runs could be audited" in output


def test_a_page_and_reports_for_authors(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = examples(NUMBERS)[WRONG]
    page, corrections = tmp_path / "audit.html", tmp_path / "corrections.csv"
    write_corrections(
        corrections,
        [Correction("starter", example.id, row_digest(example), "wrong", ("松原",), "", "ann")],
    )
    assert audit(runs, f"--page={page}", f"--corrections={corrections}") == 0
    assert f"page: {page}" in capsys.readouterr().out
    assert "松原" not in page.read_text(encoding="utf-8")  # the cases are packed
    assert main(["audit", "export", *map(str, runs), f"--to={tmp_path}"]) == 0
    checked = [f"--to={tmp_path / 'checked'}", f"--corrections={corrections}"]
    assert main(["audit", "export", *map(str, runs), *checked]) == 0
    report = (tmp_path / "checked/starter.md").read_text(encoding="utf-8")
    assert example.question in unescape(report)
    lines = (tmp_path / "checked/starter.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["example"] for line in lines] == [example.id]
    assert len((tmp_path / "starter.jsonl").read_text(encoding="utf-8").splitlines()) == 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export"], "needs --to DIR"),
        (["export", "--to=out"], "name at least one run folder"),
        (["run", "--to=out"], "--to is for"),
        (["run", "--corrections=absent.csv"], "absent.csv: cannot be read"),
    ],
)
def test_bad_use_of_export(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *words]) == 2
    assert message in capsys.readouterr().err
