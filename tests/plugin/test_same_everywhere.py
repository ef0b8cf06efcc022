"""The same run, wherever it runs: records and summary do not tell, time and cost aside.

A strategy of two rounds and a judge are among what is asked, of a server on loopback. With
TABLEBENCH_FULL there are 2,000 cases, and a Dask cluster and batches are among the places.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.results import read_records
from pytest_tablebench.results.merge import read_merge
from tests.support.batch_server import BatchServer
from tests.support.extensions import EXTENSIONS
from tests.support.matrix import FULL, reduced
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.runs import start_pytest

SUITE = """
import pytest
from pytest_tablebench import assert_score

@pytest.mark.tablebench("crews")
def test_crews(case, answer):
    assert_score(case, answer)
"""

EXAMPLES = 250 if FULL else 18
CASES = EXAMPLES * 2 * 2 * 2

CONFTEST = (
    f"COUNT = {EXAMPLES}"
    """
from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question

BOATS = ("Wren", "Tern", "Gull")

def pytest_tablebench_register_dataset(register):
    crew = [
        table_question(f"{port}-{boat.lower()}", table, f"How many sail with {boat}?", [str(sail)])
        for port in range(COUNT)
        for rows in [[[b, port, port % 6 + n] for n, b in enumerate(BOATS)]]
        for table in [Table(["Boat", "Port", "Crew"], rows)]
        for sail, boat in enumerate(BOATS, port % 6)
    ]
    register(TableQuestions("crews", crew[:COUNT], metric="same_meaning"))
"""
)

PARTS = {"metric": "tablebench_example_metric", "strategy": "tablebench_example_strategy"}
ASKED = (
    "--bench-limit=all",
    "--bench-serializer=csv,html",
    "--bench-perturbation=none,transpose",
    "--bench-strategy=direct,notes",
    "--bench-judge=plain/judge",
    *(argument for name in PARTS.values() for argument in ("-p", name)),
)
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven")
SPENT = {"latency_s", "cost_usd", "seconds", "from_store"}


THOUGHTS = "<think>\nNo. Yes.\n</think>\n\n"


def said(body: dict[str, Any]) -> Behaviour:
    """A reply that follows from what is asked, the judge's too; every second one with thoughts."""
    prompt = str(body["messages"][-1]["content"])
    thinks = int(sha256(prompt.encode()).hexdigest(), 16) % 2
    return text(f"{THOUGHTS * thinks}{answered(body)}")


def answered(body: dict[str, Any]) -> str:
    """The answer: some right, some in words, some wrong."""
    prompt = str(body["messages"][-1]["content"])
    number = int(sha256(prompt.encode()).hexdigest(), 16)
    judged = re.match(r"Expected: (\d)\nAnswer: (.*)\n", prompt)
    if judged:
        return "Yes." if judged[2].lower() == WORDS[int(judged[1])] else "No."
    if "Do not answer yet" in prompt:
        return f"the row that counts ({number % 7})"
    word = WORDS[number % 8]
    if "Your notes" in prompt:
        word = word.title()  # so that the judge has something new to say of second rounds
    return word if number % 3 else str(number % 8)


@dataclass
class Place:
    """Where the runs lie, and what they ask."""

    folder: Path
    server: OpenAIServer

    def laid(self, name: str) -> Path:
        """Return a folder with what a run needs beside its suite."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        for kind, module in PARTS.items():
            shutil.copy(EXTENSIONS / kind / f"{module}.py", folder)
        return folder

    def run(self, name: str, *arguments: str) -> Path:
        """Run pytest to its end; return the run folder."""
        folder = self.laid(name)
        given = (*ASKED, *arguments)
        started = start_pytest(
            folder, *given, api_base=self.server.url, model="plain/m", suite=SUITE
        )
        with started as process:
            run = process.wait()
        assert run.exit_code == 1, run.output  # some answers are wrong
        return folder / "run"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with OpenAIServer(said) as server:
        yield Place(tmp_path_factory.mktemp("places"), server)


@pytest.fixture(scope="module")
def whole(place: Place) -> Path:
    """The run by the local executor, which all others are held against."""
    return place.run("whole")


def in_parts(place: Place) -> Path:
    """Two parts, the second by two workers of xdist, merged in the wrong order."""
    parts = [
        place.run(f"part-{number}", f"--bench-shard={number}/2", *more)
        for number, more in ((1, ()), (2, ("-n2",)))
    ]
    return read_merge(parts[::-1]).write(place.folder / "merged").path


def replayed(place: Place) -> Path:
    asked = len(place.server.requests)
    run = place.run("replayed", f"--bench-store={place.folder}/whole/answers", "--bench-replay")
    assert len(place.server.requests) == asked
    return run


def on_dask(place: Place) -> Path:
    pytest.importorskip("distributed", reason="distributed is not installed")
    return place.run("dask", "--bench-executor=dask", "--bench-callers=2")


def by_batches(place: Place) -> Path:
    """The same command until nothing is pending; only models of a provider are handed in."""
    folder = place.laid("batches")
    given = [one.replace("plain/", "openai/") for one in ASKED]
    codes: list[int] = []

    def answer(body: dict[str, Any]) -> str:
        content: str = json.loads(said(body).body)["choices"][0]["message"]["content"]
        return content

    with BatchServer(answer, usage=(7, 3)) as server:
        while not codes or (codes[-1] == 12 and len(codes) < 9):
            started = start_pytest(
                folder,
                *given,
                "--bench-executor=batch",
                api_base=server.url,
                model="openai/m",
                suite=SUITE,
            )
            with started as process:
                run = process.wait()
            codes.append(run.exit_code)
            server.finish()
        assert len(server.asked) == len(set(server.asked))
    # The first questions; the second ones, and the judge of the first; his of the second.
    assert codes == [12, 12, 12, 1], run.output
    return folder / "run"


WAYS: list[Callable[[Place], Path]] = [in_parts, replayed, on_dask, by_batches]


@pytest.mark.parametrize("way", reduced(WAYS, in_parts, replayed))
def test_records_and_summary_are_the_same_everywhere(
    place: Place, whole: Path, way: Callable[[Place], Path]
) -> None:
    found = way(place)
    assert records(found) == records(whole)
    assert without_spent(summary(found)) == without_spent(summary(whole))
    # What there was to tell: two rounds, a judge where words differ, right and wrong.
    steps = [len(record["steps"]) for record in records(whole).values()]
    judged = [record["parts"]["words"] != 1 for record in records(whole).values()]
    assert len(steps) == CASES
    assert {0, 2, 3} <= set(steps)
    assert set(judged) == {True, False}
    outcomes = {record["outcome"] for record in records(whole).values()}
    assert outcomes == {"right", "wrong"}
    thinking = {record["raw"].startswith(THOUGHTS) for record in records(whole).values()}
    assert thinking == {True, False}
    assert not any("think" in record["prediction"] for record in records(whole).values())


def test_thoughts_change_neither_scores_nor_verdicts_of_the_judge(
    place: Place, whole: Path
) -> None:
    place.server.decide = lambda body: text(answered(body))
    try:
        silent = records(place.run("silent"))
    finally:
        place.server.decide = said
    scored = ("score", "parts", "outcome", "prediction")
    for case, record in records(whole).items():
        assert [record[name] for name in scored] == [silent[case][name] for name in scored]


def records(run: Path) -> dict[str, dict[str, Any]]:
    found = {one.case_id: without_spent(vars(one)) for one in read_records(run)}
    alike: dict[str, dict[str, Any]] = json.loads(json.dumps(found).replace("openai/", "plain/"))
    return alike


def summary(run: Path) -> Any:
    return json.loads((run / "summary.json").read_text("utf-8"))


def without_spent(value: Any) -> Any:
    """The same without what was spent, at any depth."""
    if isinstance(value, dict):
        return {name: without_spent(one) for name, one in value.items() if name not in SPENT}
    if isinstance(value, list | tuple):
        return [without_spent(one) for one in value]
    return value
