"""Make records, write their Allure results, and read these back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.reports.allure import write_allure
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.page_runs import record

RUN = {"model": "m", "start": "2026-01-02T03:04:05+00:00", "status": "complete"}
STARTED_MS = 1767323045000  # 2026-01-02T03:04:05Z in milliseconds since 1970


def make(example: str, outcome: Any = "right", config: str = "html/none", **changes: Any) -> Record:
    serializer, perturbation = config.split("/")
    facts: dict[str, Any] = {"example_id": example, "outcome": outcome, "references": ("36",)}
    facts |= {"serializer": serializer, "perturbation": perturbation}
    if outcome != "no_answer":
        facts |= {"prediction": ["41"], "raw": "41"}
    return record(**facts | changes)


def write(folder: Path, records: Sequence[Record], mode: Any = "all", **options: Any) -> None:
    write_allure(records, folder, run=RunFacts.from_json(RUN), mode=mode, **options)


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results of a folder by full name."""
    contents = [json.loads(path.read_text("utf-8")) for path in folder.glob("*-result.json")]
    return {result["fullName"]: result for result in contents}


def attachments(folder: Path) -> list[Path]:
    return list(folder.glob("*-attachment.txt"))


def containers(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in folder.glob("*-container.json")]


def labels(result: dict[str, Any]) -> dict[str, str]:
    return {label["name"]: label["value"] for label in result["labels"]}
