"""`tablebench migrate`: runs of a project with two models, and its bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.commands._project_runs import Project
from tests.support.openai_server import OpenAIServer
from tests.support.runs import SUITE, Script, environment, examples, right
from tests.support.toy_bench import Bench

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from pytest_tablebench.cli import main; raise SystemExit(main())"]
INI = """[pytest]
addopts = -q -p no:cacheprovider --bench-no-page --bench-show=0 --bench-store=answers
bench_serializer = csv
bench_perturbation = none
"""
GATES = """bench_gate =
    starter.performance >= 0.3
    starter.performance >= baseline - 0.9
"""


@dataclass(frozen=True)
class Done:
    """A finished command in its project folder."""

    folder: Path
    code: int
    out: str
    err: str


def project(folder: Path, ini: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text(INI + ini, encoding="utf-8")
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    return folder


def migrate(folder: Path, *words: str, key: str | None = None) -> Done:
    done = subprocess.run(
        [*COMMAND, "migrate", *words],
        cwd=folder,
        env=environment(key) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Done(folder, done.returncode, done.stdout, done.stderr)


def script(folder: Path, name: str, is_right: Callable[[int, str], bool]) -> str:
    """Write a script that answers the examples of which `is_right` is true; return the model."""
    lines = [
        {"match": example.question, "text": right(example) if ok else "no idea"}
        for number, example in enumerate(examples(258))
        for ok in [is_right(number, str(example.tags["kind"]))]
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in [*lines, {"default": "?"}])
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return f"tablebench/scripted:{name}.jsonl"


def verdicts(done: Done, folder: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads(
        (done.folder / folder / "migration.json").read_text(encoding="utf-8")
    )
    return content


@pytest.fixture(scope="module")
def two_candidates(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """A candidate that is better on average and worse on one slice, and an equal one."""
    folder = project(tmp_path_factory.mktemp("project"), GATES)
    old = script(folder, "old", lambda number, _: number % 3 != 0)
    mixed = script(folder, "mixed", lambda _, kind: kind != "lookup")
    equal = script(folder, "equal", lambda number, _: number % 3 != 0)
    # Equal answers over 43 tables show a loss of at most 1 - .025^(1/43) = .082.
    return migrate(folder, old, mixed, equal, "--margin=0.1", "--out=out", "--comment=comment.md")


def test_better_on_average_and_worse_on_one_slice_is_refused(two_candidates: Done) -> None:
    refused = verdicts(two_candidates, "out")[0]
    assert refused["verdict"] == "no", two_candidates.out
    [reason] = refused["reasons"]
    assert re.match(
        r"starter is better on average \(\+0\.267\), but starter, kind=lookup is worse", reason
    )
    assert reason in two_candidates.out


def test_an_equal_candidate_passes_and_is_named(two_candidates: Done) -> None:
    _, equal = verdicts(two_candidates, "out")
    assert equal["verdict"] == "yes"
    assert [gate["result"]["state"] for gate in equal["gates"]] == ["holds", "holds"]
    assert equal["gates"][1]["result"]["identical"]  # its baseline is the old model's run
    assert two_candidates.code == 0
    assert "Only tablebench/scripted:equal.jsonl passes." in two_candidates.out


def test_the_reports_are_written_where_the_options_say(two_candidates: Done) -> None:
    page = (two_candidates.folder / "out" / "migration.html").read_text("utf-8")
    comment = (two_candidates.folder / "comment.md").read_text("utf-8")
    assert "May the new model replace" in page
    assert "❌ **No: " in comment
    assert not (two_candidates.folder / "out" / "migration.md").exists()


def test_too_few_examples_are_undecided_with_their_number(tmp_path: Path) -> None:
    folder = project(tmp_path)
    old = script(folder, "old", lambda number, _: number % 3 != 0)
    new = script(folder, "new", lambda number, _: number % 3 != 1)
    done = migrate(folder, old, new, "--limit=12", "--out=out")
    [migration] = verdicts(done, "out")
    assert (done.code, migration["verdict"]) == (11, "undecided")
    # Four gained and four lost of 12: s = sqrt(8 / 11), and the estimate is .01 above the bound.
    # (1.96 + .8416)^2 * 8 / 11 / .01^2 = 57,082 examples in all.
    assert migration["further_examples"] == pytest.approx(57_070, abs=60)
    assert f"about {migration['further_examples']:,} more examples would decide" in done.out
    assert f"({migration['further_examples']:,} more) would make the gate hold in 80 %" in done.out


def test_it_plans_first_and_pays_only_for_missing_answers(tmp_path: Path) -> None:
    folder = project(tmp_path)
    plugin = ("--", "-p", "tests.support.plain_model")
    with OpenAIServer(Script(4)) as server:
        ini = (folder / "pytest.ini").read_text("utf-8")
        (folder / "pytest.ini").write_text(f"{ini}bench_api_base = {server.url}\n", "utf-8")
        models = "plain/old", "plain/new"
        planned = migrate(folder, *models, "--limit=4", *plugin, "--bench-shots=0")
        assert (planned.code, server.calls) == (0, 0), planned.err
        assert "nothing was asked or written; add --yes to ask" in planned.out
        assert not (folder / "tablebench-results").exists()
        asked = migrate(
            folder, *models, "--limit=4", "--yes", "--out=out", *plugin, "--bench-shots=0"
        )
        assert (asked.code, server.calls) == (11, 8), asked.err + asked.out
        again = migrate(folder, "plain/old", "plain/third", "--limit=4", *plugin, "--bench-shots=0")
        assert server.calls == 8
        rows = [line.split() for line in again.out.splitlines() if line.startswith("  plain/")]
        assert [row[:3] for row in rows] == [["plain/old", "0", "4"], ["plain/third", "4", "0"]]


# Bad input


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["migrate", *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a", "a"), "OLD and NEW are the same model, a"),
        (("a", "b", "c", "b"), "b is named twice"),
        (("a", " "), "a model's name is empty"),
        (("a", "b", "--margin=1.5"), "--margin takes a share from 0 to below 1"),
        (("a", "b", "--margin=nan"), "--margin takes a share"),
        (("a", "b", "--max-cost=-1"), "--max-cost takes US dollars from 0"),
        (("a", "b", "--", "--model=c"), "`migrate` sets --model itself"),
    ],
)
def test_input_that_cannot_be_meant_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, *words)


def test_no_selected_case_is_one_line(tmp_path: Path) -> None:
    folder = project(tmp_path)
    models = [script(folder, name, lambda *_: True) for name in ("old", "new")]
    done = migrate(folder, *models, "--", "-k", "nothing_has_this_name")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert "no case was selected" in done.err


def test_an_error_of_pytest_is_its_own_line(tmp_path: Path) -> None:
    folder = project(tmp_path)
    models = [script(folder, name, lambda *_: True) for name in ("old", "new")]
    done = migrate(folder, *models, "--", "--bench-dataset=startr")
    assert done.code == 2
    assert "unknown dataset 'startr'" in done.err


def test_the_json_plan_has_what_a_migration_needs(bench: Bench) -> None:
    bench.suite()
    result = bench.run(
        "--model=echo/any", "--bench-store=answers", "--bench-plan-json=to/plan.json"
    )
    assert bench.calls("ask") == []
    assert "this was the plan only" in result.stdout.str()
    plan = json.loads((bench.path / "to" / "plan.json").read_text("utf-8"))
    [model] = plan["models"]
    assert (plan["cases"], model["model"], model["calls"], model["hits"]) == (3, "echo/any", 3, 0)


def test_a_plan_that_cannot_be_written_is_one_line(bench: Bench) -> None:
    bench.suite()
    (bench.path / "file").touch()
    result = bench.run("--model=echo/any", "--bench-plan-json=file/plan.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --bench-plan-json: cannot write *plan.json*"])


def test_missing_answers_without_a_key_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    plan = {
        "calls": 4, "hits": 0, "provider": "openai", "priced_by_reply": False, "has_server": False,
        "judges": False, "cost_usd": 0.02, "seconds": 2.0,
    }  # fmt: skip
    monkeypatch.setattr(Project, "plan", lambda *_: {"gpt-4o": plan})
    line = "gpt-4o: 4 answers missing from the store, and no key to ask for them: "
    words = "tablebench/lexical", "gpt-4o"
    assert refused(capsys, *words, "--yes") == f"tablebench: {line}set OPENAI_API_KEY"
    assert main(["migrate", *words]) == 0  # a plan needs no key
    assert line in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_pytest_does_not_finish_is_one_line(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "conftest.py").write_text(
        "import pytest\ndef pytest_runtest_setup():\n    pytest.exit('broken', returncode=3)\n",
        encoding="utf-8",
    )
    models = [script(folder, name, lambda *_: True) for name in ("old", "new")]
    done = migrate(folder, *models, "--limit=1", "--out=out")
    assert done.code == 2
    assert "pytest ended with exit code 3 for tablebench/scripted:old.jsonl" in done.err
    assert not (folder / "out" / "migration.json").exists()
