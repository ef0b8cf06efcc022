"""The additional files of the results: environment, executor, categories.

A folder may be shared with allure-pytest and other writers; their files and entries stay.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.config.settings import without_credentials
from pytest_tablebench.documents.formats import number, percent
from pytest_tablebench.reports.allure._shape import FAILED_CHECK
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.entries import listing, parsed_json
from pytest_tablebench.util.names import printable

_SHOWN = [option.recorded for option in OPTIONS if option.shown and option.recorded]
_KEYS = dict.fromkeys(
    (
        *("model", "api_base", *(name for name in _SHOWN if name != "params")),
        *("status", "start", "end", "cases_planned", "cases_recorded", "calls_paid", "store_hits"),
        "cost_usd",
    )
)


def categories(reasons: Iterable[str]) -> list[dict[str, Any]]:
    """Return the content of `categories.json`: a category for each kind of failure.

    Allure 2 matches the whole message, Allure 3 searches in it. The expressions start at the
    message's beginning and so give the same result in both.
    """
    kinds = [
        ("Truncated answers", "truncated answer", "failed"),
        ("Unreadable answers", "unreadable answer", "failed"),
        ("Wrong answers", "wrong answers?", "failed"),
        ("Right answers that fail a check", FAILED_CHECK, "failed"),
        *((f"No answer: {r}", f"no answer: {r}", "broken") for r in sorted(set(reasons))),
    ]
    return [
        {
            "name": name,
            "matchedStatuses": [status],
            "messageRegex": f"^{start}(?:[^A-Za-z0-9_-][\\s\\S]*)?$",
        }
        for name, start, status in kinds
    ]


def merged(before: str, ours: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the categories of other writers in a former content, followed by ours."""
    try:
        content = parsed_json(before)
    except ValueError:
        return ours
    names = {entry["name"] for entry in ours}
    return [
        entry
        for entry in listing(content)
        if isinstance(entry, dict) and entry.get("name") not in names
    ] + ours


def config_text(rules: list[dict[str, Any]], name: str) -> str:
    """Return a configuration of Allure 3, which takes categories from there only.

    They are grouped by dataset, because nearly all messages differ.
    """
    grouped = [
        {**rule, "groupByMessage": False, "groupBy": [{"label": "feature"}]} for rule in rules
    ]
    return json.dumps({"name": name, "categories": {"rules": grouped}}, indent=2) + "\n"


def environment_text(
    run: RunFacts,
    mode: str,
    before: str = "",
    checks: Mapping[str, Counter[bool]] | None = None,
    figures: Mapping[str, str] | None = None,
) -> str:
    """Return `environment.properties`: the settings of the run, escaped.

    `checks` counts the verdicts of each test, shown as pass rates; `figures` is from
    `dataset_figures`. Lines of `before`, the former content, come first unless they set the same
    key.
    """
    # The overview of Allure shows only the first lines.
    facts: dict[str, Any] = {"model": run.model}
    facts |= {f"dataset.{name}": text for name, text in (figures or {}).items()}
    facts |= {key: run.entries.get(key) for key in _KEYS}
    if facts["api_base"] is not None:
        facts["api_base"] = without_credentials(str(facts["api_base"]))
    facts |= {
        "params": json.dumps(run.params) if run.params else None,
        "serializers": ", ".join(run.grid.get("serializers", ())),
        "perturbations": ", ".join(run.grid.get("perturbations", ())),
        "datasets": ", ".join(run.datasets),
        "allure": mode,
    }
    facts |= {
        f"{name}.pass_rate": f"{percent(passed[True] / passed.total())} of {passed.total()}"
        for name, passed in (checks or {}).items()
    }
    facts |= {f"version.{name}": v for name, v in run.versions.items()}
    facts |= {f"host.{name}": value for name, value in run.host.items()}
    properties = {
        _property(name, key=True): _property(str(value))
        for name, value in facts.items()
        if value not in (None, "")
    }
    others = [line for line in before.splitlines() if line and line.split("=")[0] not in properties]
    return "\n".join([*others, *(f"{name}={value}" for name, value in properties.items())]) + "\n"


def dataset_figures(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return pass rate and robustness of each dataset, with its range of scores, as text.

    Allure's overview shows about 36 characters of it.
    """
    figures = {}
    for benchmark in summary["benchmarks"].values():
        for name, scope in benchmark["datasets"].items():
            robustness = scope["robustness"]
            if "one configuration" in scope["flags"]:
                text = "no robustness: one configuration"
            elif robustness is None:
                text = "no robustness: no answers"
            else:
                text = f"range {number(1 - robustness)} (robustness {number(robustness)})"
            figures[name] = f"{percent(scope['pass_rate'])} right, {text}"
    return figures


def _property(text: str, *, key: bool = False) -> str:
    """Return a key or value in the escapes of Java's property files, ASCII only."""
    plain = printable(text, 1000).replace("\\", "\\\\")
    if key:
        plain = re.sub(r"([ =:#!])", r"\\\1", plain)
    elif plain.startswith(" "):
        plain = "\\" + plain
    codes = plain.encode("utf-16-be")
    units = (int.from_bytes(codes[n : n + 2]) for n in range(0, len(codes), 2))
    return "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in units)


def executor(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return `executor.json` of a run on GitHub Actions, None anywhere else.

    It reads only the variables named here, which contain no secret.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return None
    server = environ.get("GITHUB_SERVER_URL", "https://github.com")
    url = without_credentials(f"{server}/{environ.get('GITHUB_REPOSITORY', '')}")
    run_id = environ.get("GITHUB_RUN_ID", "")
    number = environ.get("GITHUB_RUN_NUMBER", "")
    facts: dict[str, Any] = {
        "name": "GitHub Actions",
        "type": "github",
        "url": url,
        "buildName": printable(f"{environ.get('GITHUB_WORKFLOW', 'run')} #{number}", 200),
        "buildUrl": f"{url}/actions/runs/{run_id}" if run_id.isdigit() else url,
    }
    if number.isdigit():
        facts["buildOrder"] = int(number)
    return facts
