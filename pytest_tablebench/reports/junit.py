"""JUnit reports: the properties of a test case, and a whole report of a finished run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.errors import writing
from pytest_tablebench.results import Record
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from pytest_tablebench.results.run import Run

PREFIX = "tablebench."

TEXT_SHOWN = 300
"""Characters of a reply or reference that are shown; all of it is in records.jsonl."""

_CHECKS = {True: "passed", False: "failed", None: "unknown"}


def replace_properties(properties: list[tuple[str, object]], new: list[tuple[str, str]]) -> None:
    """Replace the properties that an earlier attempt of an item left."""
    properties[:] = [entry for entry in properties if not str(entry[0]).startswith(PREFIX)]
    properties.extend(new)


def pass_rates(summaries: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each test's pass rate in each model's run, as properties of the whole suite.

    Their names are as in gates, after the model's name if there are several models.
    """
    for model, summary in summaries.items():
        prefix = f"{model}: " if len(summaries) > 1 else ""
        for benchmark in summary["benchmarks"].values():
            for dataset, scope in benchmark["datasets"].items():
                for name, check in scope.get("checks", {}).items():
                    if check["pass_rate"] is not None:
                        key = printable(f"{prefix}{dataset}::{name}.pass_rate", TEXT_SHOWN)
                        yield f"{PREFIX}{key}", f"{check['pass_rate']:.6g}"


def junit_properties(record: Record) -> list[tuple[str, str]]:
    """Return names and values for a report's `user_properties`, in a fixed order.

    Plain text only, because xdist workers send them. Characters that XML does not allow, or that a
    viewer would interpret, become escapes. Unknown values are left out. Names begin with
    `tablebench.`.
    """
    facts: dict[str, object] = {
        "case": record.case_id,
        "model": record.model,
        "benchmark": record.benchmark,
        "dataset": record.dataset,
        "example": record.example_id,
        "serializer": record.serializer,
        "perturbation": record.perturbation,
        "outcome": record.outcome,
        "reason": record.reason,
        "flags": ",".join(record.flags) or None,
        "metric": record.metric,
        "score": None if record.score is None else f"{record.score:.6g}",
        **{f"check.{name}": _CHECKS[passed] for name, passed in record.checks.items()},
        "expected": " | ".join(record.references) or None,
        "reply": record.raw,
        "prompt_digest": record.prompt_digest,
        "latency_s": record.latency_s,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost_usd": record.cost_usd,
        "from_store": "true" if record.from_store else None,
    }
    return [
        (f"{PREFIX}{printable(name, TEXT_SHOWN)}", printable(str(value), TEXT_SHOWN))
        for name, value in facts.items()
        if value is not None
    ]


def write_junit(run: Run, path: Path) -> None:
    """Write a JUnit report of a finished run, with a test case for each case.

    Raises `SettingsError` if it cannot be written.
    """
    from xml.etree.ElementTree import Element, ElementTree, SubElement

    counts = {"tests": len(run.records), "failures": 0, "errors": 0, "skipped": 0}
    root = Element("testsuites")
    suite = SubElement(root, "testsuite", name="tablebench")
    _add_properties(suite, pass_rates({"": summary_of(run)}))
    for record in run.records:
        name = record.case_id.partition("/")[2] or record.case_id
        case = SubElement(
            suite,
            "testcase",
            classname=printable(record.dataset, TEXT_SHOWN),
            name=printable(name, TEXT_SHOWN),
            time=f"{record.latency_s or 0:.3f}",
        )
        _add_properties(case, junit_properties(record))
        if record.outcome == "no_answer":
            counts["errors"] += 1
            SubElement(case, "error", message=printable(str(record.reason), TEXT_SHOWN))
        elif record.passed is None:
            counts["skipped"] += 1
            SubElement(case, "skipped", message="scored, and neither right nor wrong")
        elif not record.passed:
            counts["failures"] += 1
            SubElement(case, "failure", message="the answer is wrong")
    suite.attrib |= {name: str(count) for name, count in counts.items()}
    with writing(f"--junitxml: cannot write {path}"):
        ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add_properties(element: Element, properties: Iterable[tuple[str, str]]) -> None:
    from xml.etree.ElementTree import SubElement

    parent = SubElement(element, "properties")
    for name, value in properties:
        SubElement(parent, "property", name=name, value=value)
