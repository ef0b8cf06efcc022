"""Records and summary are the same wherever a run runs, except for time and cost.

The run uses a strategy of two rounds and a judge, and a server on loopback. TABLEBENCH_FULL adds a
Dask cluster and batches, and runs 2,000 cases.
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

from pytest_tablebench.claims.merge import read_merge
from pytest_tablebench.results import read_records
from tests.support.batch_server import BatchServer
from tests.support.extensions import EXTENSIONS
from tests.support.matrix import FULL, reduced
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.runs import run_pytest, start_pytest
from tests.support.toy_bench import SCORED

SUITE = SCORED.replace("toy", "crews")

EXAMPLES = 250 if FULL else 10
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


def reply_to(body: dict[str, Any]) -> Behaviour:
    """Return a reply that depends on the prompt; about half of them contain thoughts."""
    prompt = str(body["messages"][-1]["content"])
    thinks = int(sha256(prompt.encode()).hexdigest(), 16) % 2
    return text(f"{THOUGHTS * thinks}{answered(body)}")


def answered(body: dict[str, Any]) -> str:
    """Return the answer to a prompt: right, right in words, or wrong."""
    prompt = str(body["messages"][-1]["content"])
    number = int(sha256(prompt.encode()).hexdigest(), 16)
    judged = re.match(r"Expected: (\d)\nAnswer: (.*)\n", prompt)
    if judged:
        return "Yes." if judged[2].lower() == WORDS[int(judged[1])] else "No."
    if "Do not answer yet" in prompt:
        return f"the row that counts ({number % 7})"
    word = WORDS[number % 8]
    if "Your notes" in prompt:
        word = word.title()  # so that the judge gets new questions about second rounds
    return word if number % 3 else str(number % 8)


@dataclass
class Place:
    """The folder of the runs, and their server."""

    folder: Path
    server: OpenAIServer

    def make_folder(self, name: str) -> Path:
        """Return a folder with the conftest and extensions of a run."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        for kind, module in PARTS.items():
            shutil.copy(EXTENSIONS / kind / f"{module}.py", folder)
        return folder

    def run(self, name: str, *arguments: str) -> Path:
        """Run pytest to its end; return the run folder."""
        folder = self.make_folder(name)
        options = (*ASKED, *arguments)
        run = run_pytest(folder, self.server, *options, model="plain/m", suite=SUITE)
        assert run.exit_code == 1, run.output  # some answers are wrong
        return folder / "run"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with OpenAIServer(reply_to) as server:
        yield Place(tmp_path_factory.mktemp("places"), server)


@pytest.fixture(scope="module")
def whole(place: Place) -> Path:
    """The run of the local executor, which all others must equal."""
    return place.run("whole")


def in_parts(place: Place) -> Path:
    """Merge two shards in the wrong order; the second runs under a worker."""
    parts = [
        place.run(f"part-{number}", f"--bench-shard={number}/2", *more)
        for number, more in ((1, ()), (2, ("-n1",)))
    ]
    return read_merge(parts[::-1]).write(place.folder / "merged").path


def replayed(place: Place) -> Path:
    calls_before = len(place.server.requests)
    run = place.run("replayed", f"--bench-store={place.folder}/whole/answers", "--bench-replay")
    assert len(place.server.requests) == calls_before
    return run


def on_dask(place: Place) -> Path:
    pytest.importorskip("distributed", reason="distributed is not installed")
    return place.run("dask", "--bench-executor=dask", "--bench-callers=2")


def by_batches(place: Place) -> Path:
    """Repeat the command until no request is pending."""
    folder = place.make_folder("batches")
    options = [argument.replace("plain/", "openai/") for argument in ASKED]
    codes: list[int] = []

    def answer(body: dict[str, Any]) -> str:
        content: str = json.loads(reply_to(body).body)["choices"][0]["message"]["content"]
        return content

    with BatchServer(answer, usage=(7, 3)) as server:
        while not codes or (codes[-1] == 12 and len(codes) < 9):
            started = start_pytest(
                folder,
                *options,
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
    # First rounds; second rounds and judge of the first; judge of the second.
    assert codes == [12, 12, 12, 1], run.output
    return folder / "run"


WAYS: list[Callable[[Place], Path]] = [in_parts, replayed, on_dask, by_batches]


@pytest.mark.parametrize("place_run", reduced(WAYS, in_parts, replayed))
def test_records_and_summary_are_the_same_everywhere(
    place: Place, whole: Path, place_run: Callable[[Place], Path]
) -> None:
    run = place_run(place)
    assert records(run) == records(whole)
    assert without_spent(summary(run)) == without_spent(summary(whole))
    # The run contains two rounds, judge calls, right and wrong answers.
    steps = [len(record["steps"]) for record in records(whole).values()]
    judged = [record["parts"]["words"] != 1 for record in records(whole).values()]
    assert len(steps) == CASES
    assert {0, 2, 3} <= set(steps)
    assert set(judged) == {True, False}
    outcomes = {record["outcome"] for record in records(whole).values()}
    assert outcomes == {"right", "wrong"}
    thinking = {record["raw"].startswith(THOUGHTS) for record in records(whole).values()}
    assert thinking == {True, False}
    # Thoughts, which contain the words of both verdicts, change no score and no verdict.
    for record in records(whole).values():
        [reference] = record["references"]
        is_right = record["prediction"].lower() in {reference, WORDS[int(reference)]}
        assert record["outcome"] == ("right" if is_right else "wrong")


def records(run: Path) -> dict[str, dict[str, Any]]:
    by_case = {record.case_id: without_spent(vars(record)) for record in read_records(run)}
    alike: dict[str, dict[str, Any]] = json.loads(json.dumps(by_case).replace("openai/", "plain/"))
    return alike


def summary(run: Path) -> Any:
    return json.loads((run / "summary.json").read_text("utf-8"))


def without_spent(value: Any) -> Any:
    """Return a value without the fields of time and cost, at any depth."""
    if isinstance(value, dict):
        return {name: without_spent(item) for name, item in value.items() if name not in SPENT}
    if isinstance(value, list | tuple):
        return [without_spent(item) for item in value]
    return value
