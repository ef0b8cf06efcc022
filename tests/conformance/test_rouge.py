"""Every golden ROUGE score, all four variants, raw and through the datasets' chains."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import score, score_answer
from pytest_tablebench.metrics import run_chain

from . import vectors

CHAINS = {"lower_case": ("numericnlg", "scigen")}
"""Datasets that apply exactly this one post-processor."""


def records(*, raw: bool = False) -> list[Any]:
    return vectors.params(
        "metrics.json",
        lambda record: f"{'+'.join(record['postprocessors'])}-{record['prediction']}",
        keep=lambda record: record["metric"] == "rouge" and not (raw and record["postprocessors"]),
    )


def approximately(expected: dict[str, float]) -> Any:
    return pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("compat", ["fixed", "reference"])
@pytest.mark.parametrize("record", records())
def test_all_four_variants(record: dict[str, Any], compat: Any) -> None:
    chain, references = record["postprocessors"], record["references"]
    prediction = run_chain(chain, record["prediction"])
    processed = [run_chain(chain, reference) for reference in references]
    if "processed" in record:
        assert {"prediction": prediction, "references": processed} == record["processed"]
    result = score("rouge", prediction, processed, compat=compat)
    assert dict(result.parts) == approximately(record["expected"])
    assert result.value == result.parts["rougeL"]
    for dataset in CHAINS.get("+".join(chain), ()):
        whole = score_answer(dataset, record["prediction"], references, compat=compat)
        assert dict(whole.parts) == approximately(record["expected"])


@pytest.mark.parametrize("record", records(raw=True))
def test_qtsumm_strips_and_scores(record: dict[str, Any]) -> None:
    # White space at the ends changes no token, so raw records hold for its chain as well.
    result = score_answer("qtsumm", f"\n {record['prediction']} \n", record["references"])
    assert dict(result.parts) == approximately(record["expected"])


def test_no_record_is_left_out() -> None:
    found = [record for record in vectors.load("metrics.json") if record["metric"] == "rouge"]
    assert len(found) == 58
    assert sum("+".join(record["postprocessors"]) in CHAINS for record in found) == 6
