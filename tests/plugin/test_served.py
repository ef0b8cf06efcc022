"""What answered a run is recorded, and one call checks whether it still answers stored questions.

The toy model of `test_stored_answers.py` tests `--bench-max-age`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.openai_server import Behaviour, OpenAIServer, error, text
from tests.support.runs import LITELLM, Run, Script, right, run_inside

COUNT = 4
GATE = "--bench-gate=starter.no_answer <= 0.5"
BASIS = "4 of 4 answers were stored before this run"


def test_a_server_that_has_changed_behind_stored_answers_leaves_gates_undecided(
    tmp_path: Path,
) -> None:
    script = Script(COUNT)
    version: str | None = "fp_a"

    def answer(body: dict[str, object]) -> Behaviour:
        if version is None:
            return error(404, "no such model")
        number = script.number(body)
        assert number is not None
        return text(right(script.examples[number]), fingerprint=version)

    def run(server: OpenAIServer, name: str, *options: str) -> Run:
        options = (GATE, f"--bench-store={tmp_path / 'answers'}", *options)
        return run_inside(tmp_path / name, server, *options, count=COUNT, model=LITELLM)

    def check(run: Run, exit_code: int, calls: int, words: str) -> None:
        assert (run.exit_code, run.facts["calls_paid"]) == (exit_code, calls), run.output
        newest = r", the newest \d+ s ago"
        assert words in re.sub(newest, "", run.output)

    with OpenAIServer(answer) as server:
        check(run(server, "first"), 0, COUNT, "The gate holds.\n")
        same = "a call shows the same version fp_a and model test-model as when they were stored"
        check(run(server, "second", "-n1"), 0, 1, f"The gate holds.\n{BASIS}; {same}\n")
        version = "fp_b"
        changed = "the server has changed since the stored answers: version fp_b instead of fp_a"
        check(run(server, "third"), 11, 1, f"{GATE.partition('=')[2]}: {changed}\n")
        version = None
        check(run(server, "gone"), 11, 0, "the server did not answer a check: ")


CONFTEST = """
from pytest_tablebench.models import Reply


class Model:
    count = 0

    def complete(self, request):
        Model.count += 1
        place = "Together" if Model.count == 1 else "DeepInfra"
        return Reply("36", served_model="m-2026", served_by=place)


Model.in_process = True


def pytest_tablebench_register_provider(register):
    register("aggregator", lambda model, settings: Model())
"""


def test_several_providers_are_named(bench):
    bench.adapt(add=CONFTEST)
    result = bench.run("--model=aggregator/m")
    # 1 and 2 of 3 cases.
    line = "answered by DeepInfra 67 %, Together 33 %"
    result.stdout.fnmatch_lines([line])
    served = [record["served"] for record in bench.records()]
    assert sorted(served) == [
        *["model m-2026; provider DeepInfra"] * 2,
        "model m-2026; provider Together",
    ]
    assert bench.facts()["served"] == {
        "model m-2026; provider DeepInfra": 2,
        "model m-2026; provider Together": 1,
    }
