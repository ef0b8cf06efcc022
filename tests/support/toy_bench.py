"""A dataset and a model for tests, registered through the hooks as a user would do it.

`CONFTEST` is the text of a conftest.py. Its dataset and model write each call (open, load or
request) to `calls.log` in their folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

CONFTEST = """
import json
from pathlib import Path

from pytest_tablebench.datasets import (
    Dataset, Example, PromptParts, Source, SourceFacts
)
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Reply
from pytest_tablebench.tables.table import Table

HERE = Path(__file__).parent


def log(*what):
    with (HERE / "calls.log").open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\\n")


def make(example_id, question, answers):
    table = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"], ["Cy", "12"]])
    inputs = {"question": question, "table": table}
    tags = {"asks": "age"}
    return Example(example_id, inputs, question, tuple(answers), ", ".join(answers), tags=tags)


class Pool:
    def __init__(self, dataset):
        self.rows = [
            [f"demo-{number}", f"Demonstration {number}?", [f"shown {number}"]]
            for number in range(1, 6)
        ]

    def __len__(self):
        return len(self.rows)

    def key(self, index):
        return self.rows[index][1]

    def __getitem__(self, index):
        return make(*self.rows[index])


class Rows(Source):
    facts = SourceFacts({"toy.json": "0" * 64})
    pool = None

    def __init__(self, name):
        log("open", name)
        rows = json.loads((HERE / "toy.json").read_text(encoding="utf-8"))[name]
        self.rows = {row[0]: row for row in rows}
        self.pool = Pool(name)

    def example_ids(self, limit):
        return list(self.rows)[:limit]

    def example(self, example_id):
        log("example", example_id)
        return make(*self.rows[example_id])


class Toy(Dataset):
    benchmark = "toys"
    metric = "exact_match"
    shots = 0
    limit = None
    threshold = 1.0

    def __init__(self, name):
        self.name = self.folder = name

    def open(self, folder, *, compat="fixed"):
        return Rows(self.name)

    def chain(self, compat):
        return ("take_first_non_empty_line",)

    def prompt(self, example, render):
        shown = render(example.inputs["table"])
        source = f"Table:\\n{shown}\\nQuestion: {example.inputs['question']}\\n"
        return PromptParts("Read the table.", source, "Answer: ")


def pytest_tablebench_register_dataset(register):
    for name in json.loads((HERE / "toy.json").read_text(encoding="utf-8")):
        register(Toy(name))


class Echo:
    def __init__(self, model):
        self.model = model

    def complete(self, request):
        log("ask", request.case_id, request.text)
        if self.model.endswith("/refuses"):
            raise ModelError("the filter\\x1b[31m said no", reason="content_filter")
        if self.model.endswith("/locked"):
            raise ModelError("a wrong key", reason="auth", whole_run=True)
        return Reply("36", finish_reason="stop", prompt_tokens=10, completion_tokens=1)


def pytest_tablebench_register_provider(register):
    for prefix in ("echo", "other"):
        register(prefix, lambda model, settings: Echo(model))
"""

CALLED = (
    CONFTEST.replace("lambda model, settings: Echo(model)", "Named")
    + """

class Named(Echo):
    def __init__(self, model, settings):
        super().__init__(model)
"""
)
"""The same text with models that run in the callers, because another process can import them."""

SUITE = """
import pytest
from pytest_tablebench import assert_exact_match


@pytest.mark.tablebench("toy")
def test_toy(case, answer):
    assert_exact_match(case, answer)
"""

SCORED = SUITE.replace("assert_exact_match", "assert_score")

ADA = ["ada", "How old is Ada?", ["36"]]
BO = ["bo", "How old is Bo?", ["41"]]
CY = ["cy", "How old is Cy?", ["12"]]


def read_lines(path: Path) -> list[Any]:
    """Return the JSON lines of a file; empty without the file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Bench:
    """A folder with the toy dataset `toy` (`ada` 36, `bo` 41, `cy` 12), a suite, and its runs."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.data(toy=[ADA, BO, CY])
        pytester.makeconftest(CONFTEST)

    def data(self, **datasets: list[list[Any]]) -> None:
        """Set the toy datasets: by name, rows of id, question and answers."""
        (self.path / "toy.json").write_text(json.dumps(datasets), encoding="utf-8")

    def adapt(self, *changes: tuple[str, str], add: str = "") -> None:
        """Replace texts of the conftest, all of which it contains, and add lines at its end."""
        conftest = self.path / "conftest.py"
        text = conftest.read_text("utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        conftest.write_text(text + add, encoding="utf-8")

    def without_metric(self) -> None:
        """Let the toy dataset declare no metric."""
        self.adapt(('    metric = "exact_match"\n', ""))

    def suite(self, source: str = SUITE, name: str = "test_suite.py") -> Path:
        path = self.path / name
        path.write_text(source, encoding="utf-8")
        return path

    def script(self, *lines: Mapping[str, str], name: str = "script.jsonl") -> str:
        """Write a script of replies and return the name of its model."""
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.path / name).write_text(text, encoding="utf-8")
        return f"tablebench/scripted:{name}"

    def run(self, *arguments: str, results: str = "run") -> pytest.RunResult:
        """Run pytest in this process, by default with one configuration."""
        # As in a process of its own, Ctrl-C ends only this run.
        run = partial(self.pytester.runpytest_inprocess, no_reraise_ctrlc=True)
        return self._run(run, arguments, results)

    def run_apart(self, *arguments: str, results: str = "run") -> pytest.RunResult:
        """Run pytest in a separate process, for xdist and for changes to the process itself."""
        return self._run(self.pytester.runpytest_subprocess, arguments, results)

    def refused(self, *arguments: str) -> str:
        """Run; return the line that refuses the run, which made no call and no run folder."""
        return self.refusal(self.run(*arguments))

    def refusal(self, result: pytest.RunResult) -> str:
        assert result.ret == pytest.ExitCode.USAGE_ERROR, result.stdout.str()
        assert "Traceback" not in result.stdout.str() + result.stderr.str()
        assert self.calls("ask") == []
        assert not (self.path / "run").exists()
        assert not (self.path / "tablebench-results").exists()
        [line] = [line for line in result.errlines if line]
        return line.removeprefix("ERROR: ")

    def _run(
        self, run: Callable[..., pytest.RunResult], arguments: tuple[str, ...], results: str
    ) -> pytest.RunResult:
        command_line = " ".join(arguments)
        extra = [f"--bench-results={results}"]
        if "page" not in command_line:
            extra.append("--bench-no-page")
        if "--bench-store" not in command_line:
            extra.append("--bench-store=none")
        if "--bench-serializer" not in command_line:
            extra.append("--bench-serializer=html")
        if "--bench-perturbation" not in command_line:
            extra.append("--bench-perturbation=none")
        return run(*extra, *arguments)

    def records(self, folder: str = "run") -> list[dict[str, Any]]:
        """Return the records of a run, in file order."""
        return read_lines(self.path / folder / "records.jsonl")

    def record(self, folder: str = "run") -> dict[str, Any]:
        """Return the only record of a run."""
        [record] = self.records(folder)
        return record

    def facts(self, folder: str = "run") -> dict[str, Any]:
        """Return the content of run.json."""
        return self._json(folder, "run.json")

    def summary(self, folder: str = "run") -> dict[str, Any]:
        """Return the content of summary.json."""
        return self._json(folder, "summary.json")

    def _json(self, folder: str, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.path / folder / name).read_text("utf-8"))
        return content

    def calls(self, kind: str) -> list[Any]:
        """Return the logged calls of one kind: open, example or ask."""
        return [entry[1:] for entry in read_lines(self.path / "calls.log") if entry[0] == kind]
