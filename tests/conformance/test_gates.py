"""Gates know no order of records, and objects as well as mappings."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_tablebench.claims.gates import judge_gates

from . import vectors

GATES = vectors.params(
    "gates.json",
    lambda item: item["id"],
    keep=lambda item: item["kind"] == "gate" and "records" in item,
)


@pytest.mark.parametrize("item", GATES)
def test_objects_in_another_order_are_judged_alike(item):
    def judged(records, baseline):
        (result,) = judge_gates(records, [item["gate"]], baseline, benchmarks=item["benchmarks"])
        return result

    def turned(records):
        return records and [SimpleNamespace(**record) for record in reversed(records)]

    plain = judged(item["records"], item["baseline"])
    assert plain.reason
    assert judged(turned(item["records"]), turned(item["baseline"])) == plain
