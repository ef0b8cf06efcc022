"""What answered a run is recorded, and said if it is more than one."""

from __future__ import annotations

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
