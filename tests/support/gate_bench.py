"""The toy bench with as many examples as a gate needs, and a model that answers by a plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from tests.support.toy_bench import CONFTEST, Bench

RIGHT, WRONG, NO = "right", "wrong", "no answer"

COUNT = 30
"""Default number of examples of a run."""

PLANNED = """

class Planned:
    '''Answers by example, or by example/format/perturbation; the plan is named by the model.'''

    def __init__(self, model):
        self.plan = json.loads((HERE / (model.split("/")[1] + ".plan.json")).read_text("utf-8"))

    def complete(self, request):
        log("asked", request.case_id, request.repeat)
        _, example, *cell = request.case_id.split("/")
        keys = ["/".join([example, *cell[:n]]) for n in (3, 2, 1, 0)]
        outcome = next((self.plan[key] for key in keys if key in self.plan), "right")
        if outcome == "no answer":
            raise ModelError("the filter said no", reason="content_filter")
        if outcome == "interrupt":
            raise KeyboardInterrupt
        if outcome == "stop":
            raise ModelError("the server is gone", reason="connection", whole_run=True)
        if outcome == "budget":
            raise ModelError("all is spent", reason="budget")
        right = str(int(example[1:]))
        text = {"right": right, "wrong": "other"}.get(outcome, outcome)
        return Reply(text, finish_reason="stop", prompt_tokens=10, completion_tokens=1,
                     cost_usd=self.plan.get("price"))


def pytest_tablebench_register_provider(register):
    register("echo", lambda model, settings: Echo(model))
    register("plan", lambda model, settings: Planned(model))
"""


def names(count: int) -> list[str]:
    return [f"e{number:03}" for number in range(count)]


def outcomes(*, wrong: int = 0, unanswered: int = 0, count: int = COUNT) -> dict[str, str]:
    """Return a plan: first the right answers, then the wrong ones, then the missing ones."""
    kinds = [RIGHT] * (count - wrong - unanswered) + [WRONG] * wrong + [NO] * unanswered
    return dict(zip(names(count), kinds, strict=True))


class GateBench(Bench):
    """A toy bench of numbered examples; `model` writes the plan of a model."""

    def __init__(self, pytester: pytest.Pytester, count: int = COUNT) -> None:
        super().__init__(pytester)
        self.examples(count)
        self.suite()
        pytester.makeconftest(CONFTEST + PLANNED)

    def examples(self, count: int, dataset: str = "toy") -> None:
        rows = [[name, f"Question {name}?", [str(int(name[1:]))]] for name in names(count)]
        self.data(**{dataset: rows})

    def model(self, plan: Mapping[str, Any], name: str = "x") -> str:
        """Write a plan and return the option that chooses its model."""
        (self.path / f"{name}.plan.json").write_text(json.dumps(dict(plan)), encoding="utf-8")
        return f"--model=plan/{name}"

    def gates(self, folder: str = "run") -> list[dict[str, Any]]:
        gates: list[dict[str, Any]] = self.facts(folder)["gates"]
        return gates

    def states(self, folder: str = "run") -> list[str]:
        return [gate["state"] for gate in self.gates(folder)]

    def asked(self) -> list[str]:
        """Return the ids of the cases that the model received, in order."""
        return [case_id for case_id, _ in self.calls("asked")]

    def way(self, workers: int) -> Callable[..., pytest.RunResult]:
        """Run in this process, with workers of xdist unless there are 0."""
        return partial(self.run, "-n", str(workers)) if workers else self.run


def options(gates: Sequence[str]) -> list[str]:
    return [f"--bench-gate={gate}" for gate in gates]
