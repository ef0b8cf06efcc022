"""The page loads nothing, and hostile text in it is escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench import documents
from pytest_tablebench.reports.html import _texts as packed_texts
from pytest_tablebench.reports.html import review
from pytest_tablebench.reports.html._page import _MODULES
from pytest_tablebench.reports.html._texts import pack_pictures
from tests.support.page_files import block, changed, gate_result, page
from tests.support.page_runs import make_records, record

HOSTILE = "</script><script>alert(1)</script>\u202e\x1b[31m"


def test_the_policy_allows_only_the_pages_script_and_style(tmp_path: Path) -> None:
    soup = page(tmp_path, [record()])
    meta = soup.find("meta", attrs={"http-equiv": "Content-Security-Policy"})
    assert meta is not None
    rules = dict(rule.strip().split(" ", 1) for rule in str(meta["content"]).split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"  # pictures inside the page
    assert "unsafe" not in str(meta["content"])
    for kind in ("script", "style"):
        inline = [tag.string for tag in soup.find_all(kind) if not tag.get("type")]
        assert len(inline) == 1
        digest = base64.b64encode(hashlib.sha256(str(inline[0]).encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"


def test_the_page_loads_nothing_and_elements_have_no_style_or_handler(tmp_path: Path) -> None:
    records = list(make_records(["a", "b"], 3))
    soup = page(tmp_path, records, gates=[gate_result()])
    for tag in soup.find_all(True):
        assert not [name for name in tag.attrs if name.startswith("on") or name == "style"], (
            tag.name
        )
        assert "src" not in tag.attrs
        assert str(tag.get("href", "#")).startswith("#")
        assert str(tag.get("xlink:href", "#")).startswith("#")
    assert not soup.find_all(["link", "iframe", "object", "embed", "base", "img", "image"])


def test_the_script_never_parses_text_as_markup() -> None:
    modules = list(Path(documents.__path__[0], "static", "page").glob("*.js"))
    assert sorted(module.stem for module in modules) == sorted({*_MODULES, *review._MODULES})
    script = "\n".join(module.read_text("utf-8") for module in modules)
    for risky in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "eval(",
        "Function(",
        "document.write",
    ):
        assert risky not in script
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(", script)


def test_hostile_names_are_escaped_in_the_file(tmp_path: Path) -> None:
    hostile = record(
        **dict.fromkeys(("model", "benchmark", "dataset", "example_id", "serializer"), HOSTILE),
        perturbation=HOSTILE + "2",
        raw=HOSTILE,
        flags=(HOSTILE,),
        metric=HOSTILE,
        parts={HOSTILE: 1.0},
    )
    unanswered = replace(hostile, case_id="b", outcome="no_answer", score=None, reason=HOSTILE)
    gate = gate_result(gate=HOSTILE, reason=HOSTILE, method=HOSTILE)
    changes = [changed(HOSTILE, "flipped", HOSTILE, HOSTILE + " x")]
    soup = page(
        tmp_path,
        [hostile, unanswered],
        gates=[gate],
        snapshots=changes,
        run={"params": {HOSTILE: HOSTILE}, "datasets": {HOSTILE: {"notes": [HOSTILE]}}},
    )
    assert len(soup.find_all("script")) == 1 + len(soup.select("script[type='text/plain']"))
    raw = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in raw
    assert "\u202e" not in raw.replace(HOSTILE.replace("<", "&lt;").replace(">", "&gt;"), "")
    assert "\x1b" not in soup.get_text()
    assert block(soup, "d0")[0]["reply"] == HOSTILE


def test_the_page_is_written_despite_lone_surrogates(tmp_path: Path) -> None:
    odd = record(raw="\ud800", prediction="\udfff", references=("\ud800",), example_id="e\udc80")
    soup = page(tmp_path, [odd], gates=[gate_result(reason="\ud800")])
    assert block(soup, "d0")[0]["reply"] == "\ud800"


def test_the_page_contains_pictures_whose_digest_matches_their_name(
    tmp_path: Path,
) -> None:
    good, forged = b"\x89PNG of ours", b"<svg onload=alert(1)>"
    names = [f"{hashlib.sha256(data).hexdigest()}.png" for data in (good, b"another")]
    for name, data in zip(names, (good, forged), strict=True):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "notes.html").write_bytes(forged)
    packed = pack_pictures([tmp_path])
    assert packed.numbers == {names[0]: 0}
    assert packed.blocks == {"m0": base64.b64encode(good).decode()}
    assert packed.notes == ("1 picture of media/ is on this page",)
    assert pack_pictures([tmp_path / "none"]).blocks == {}


def test_pictures_beyond_the_budget_stay_in_the_run_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for data in (b"one", b"a longer one"):
        (tmp_path / f"{hashlib.sha256(data).hexdigest()}.png").write_bytes(data)
    monkeypatch.setattr(packed_texts, "_BUDGET", 20)
    packed = pack_pictures([tmp_path])
    assert list(packed.blocks.values()) == [base64.b64encode(b"one").decode()]
    assert packed.notes == ("1 picture of media/ is on this page; 1 larger one did not fit",)
