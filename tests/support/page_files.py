"""Write the page of a run and read it back."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

from pytest_tablebench.claims.gates import GateResult
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import Record
from pytest_tablebench.results.run import load_run
from tests.support.page_runs import write_run


def gate_result(
    gate: str = "all.performance >= 0.5",
    estimate: float | None = 0.4,
    bound: float = 0.5,
    interval: tuple[float, float] | None = (0.3, 0.45),
    **facts: Any,
) -> GateResult:
    """Return a result, by default of a gate that fails."""
    usual: dict[str, Any] = {"method": "t", "examples": 9, "state": "fails"}
    usual["reason"] = "the interval is below the bound"
    low, high = interval or (None, None)
    return GateResult(gate=gate, value=estimate, bound=bound, low=low, high=high, **(usual | facts))


def changed(case_id: str, kind: str, old: str, new: str) -> dict[str, Any]:
    """Return the entry of snapshots.json for an answer that differs from the stored one."""
    return {"case_id": case_id, "kind": kind, "old": {"text": old}, "new": {"text": new}}


def page(tmp_path: Path, records: list[Record], **options: Any) -> BeautifulSoup:
    run_options = {
        name: options.pop(name) for name in ("texts", "run", "prompt") if name in options
    }
    run = load_run(write_run(tmp_path / "run", records, **run_options))
    if "snapshots" in options:
        run.changes = {"changes": options.pop("snapshots")}
    write_page(run, tmp_path / "report.html", **options)
    return BeautifulSoup((tmp_path / "report.html").read_text(encoding="utf-8"), "html.parser")


def block(soup: BeautifulSoup, name: str) -> Any:
    element = soup.find(id=f"b-{name}")
    assert element is not None, name
    return json.loads(zlib.decompress(base64.b64decode(element.text)))


def text_of(soup: Tag, selector: str) -> str:
    element = soup.select_one(selector)
    assert element is not None, selector
    return " ".join(element.get_text(" ").split())
