"""Faults of public datasets that are known come up in an audit of the real slices."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.audit.ranking import Audit, audit_runs
from pytest_tablebench.results import RunFolder
from tests.audit.audit_runs import record_of
from tests.support.slices import ROOT, needs_slices, runner

DATASETS = ("tablebench_nr", "wikitq", "realhit_nr")

pytestmark = needs_slices("tablebench", "wikitq", "realhitbench")


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Audit two models that give every gold, so that only the data speaks."""
    paths = []
    for model in ("a", "b"):
        folder = RunFolder(tmp_path_factory.mktemp("known") / model)
        files = {}
        for name in DATASETS:
            opened = runner().source(name)
            files[name] = {"files": dict(opened.facts.files)}
            for example_id in opened.example_ids(None):
                example = opened.example(example_id)
                reply = ", ".join(example.references)
                record = record_of(example, reply, model=model, dataset=name)
                folder.append(record.to_line())
        folder.close()
        folder.write_run({"model": model, "compat": "fixed", "seed": 0, "datasets": files})
        paths.append(folder.path)
    return audit_runs(paths, data=Path(ROOT))


def reasons(audit: Audit, dataset: str, example_id: str) -> dict[str, str]:
    """Return the text of each kind of evidence."""
    [suspect] = [
        suspect
        for suspect in audit.suspects
        if (suspect.dataset, suspect.example_id) == (dataset, example_id)
    ]
    return {item.kind: item.text for item in suspect.evidence}


def test_the_gold_that_tablebench_changed(audit: Audit) -> None:
    first = audit.suspects[0]
    assert (first.dataset, first.example_id) == (
        "tablebench_nr",
        "1aba704991b72a8107475d7fea800b42",
    )
    texts = reasons(audit, first.dataset, first.example_id)
    assert texts["other_gold"] == (
        "the gold of the same question in v2/TableBench_TCoT.jsonl is 1157"
    )
    assert texts["unit"] == "the gold and 1157 differ by a factor of 10"
    assert texts["derivation"] == (
        "the sum of 'avg daily flts' over 10 rows is 1,157, the gold is 115.7"
    )
    assert (0, 0, 2) in first.cells


def test_the_garbled_tables_of_wikitq(audit: Audit) -> None:
    for example_id in ("nu-1099", "nu-1439"):
        assert reasons(audit, "wikitq", example_id)["table"].endswith("it is a second header")


def test_the_rounded_sum_of_realhitbench(audit: Audit) -> None:
    texts = reasons(audit, "realhit_nr", "391")
    assert texts["derivation"].endswith(
        "is 1,119,800, the sum of its parts is 1,119,760"  # 521,060 + 17,470 + ... + 470,830
    )


def test_known_cases_are_among_the_first_ten(audit: Audit) -> None:
    first = {suspect.example_id for suspect in audit.suspects[:10]}
    assert {"nu-1099", "nu-1439", "391"} <= first
