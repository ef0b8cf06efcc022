"""ROUGE: what `fixed` says of every golden record, raw and through a chain of its own."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import score, score_answer
from pytest_tablebench.metrics import run_chain

from . import vectors

RECORDS = vectors.params(
    "metrics.json",
    lambda record: f"{'+'.join(record['postprocessors'])}-{record['prediction']}",
    keep=lambda record: record["metric"] == "rouge",
)


def approximately(expected: dict[str, float]) -> Any:
    return pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("record", RECORDS)
def test_fixed_is_the_reference(record: dict[str, Any]) -> None:
    chain = record["postprocessors"]
    prediction = run_chain(chain, record["prediction"])
    processed = [run_chain(chain, reference) for reference in record["references"]]
    result = score("rouge", prediction, processed, compat="fixed")
    assert dict(result.parts) == approximately(record["expected"])
    if not chain:
        # White space at the ends changes no token, so raw records hold for this chain as well.
        whole = score_answer("qtsumm", f"\n {record['prediction']} \n", record["references"])
        assert dict(whole.parts) == approximately(record["expected"])
