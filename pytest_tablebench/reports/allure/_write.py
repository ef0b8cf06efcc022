"""The writer of a run's records as a folder of Allure results, small enough for its reports.

Allure 3 shows an attachment only at its first reference. A text that several cases share is
therefore attached once, to the set-up of a container of these cases; Allure 2 and 3 show it under
each case. Files and entries of allure-pytest and other writers in the folder stay.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from allure_commons import model2
from allure_commons.logger import AllureFileLogger

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.documents.formats import number, percent
from pytest_tablebench.errors import writing
from pytest_tablebench.reports.allure._results import (
    FAILED_CHECK,
    REPLY_SHOWN,
    case_result,
    check_counts,
    cut,
    group_result,
    kind_of,
    reason_of,
    status_of,
)
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import ExampleText, PromptText, Text, example_key
from pytest_tablebench.util.entries import listing, mapping, parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable

MODES = ("all", "wrong", "summary")

ALL_UP_TO = 5_000
"""The number of cases up to which each has its own result by default."""

WRONG_UP_TO = 10_000
"""The number of cases that are not right up to which each of them has one by default."""

ATTACHMENT = 256_000
"""Characters of one attachment; the rest of the text is in the run folder."""

BUDGET = 64_000_000
"""Bytes of all attachments together; more would slow down report generators."""

PROMPTS = 500
"""The number of attached prompts, the first of the run; all are in the run folder."""

_KEYS = (
    *("api_base", *(option.recorded for option in OPTIONS if option.shown and option.recorded)),
    *("status", "start", "end", "cases_planned", "cases_recorded", "calls_paid", "store_hits"),
    "cost_usd",
)


def choose_mode(cases: int, not_right: int) -> str:
    """Return the default mode, by the number of results that a report can show.

    `all`: one result for each case. `wrong`: one for each case that is not right, and one for
    each configuration's right ones. `summary`: one for each configuration.
    """
    if cases <= ALL_UP_TO:
        return "all"
    return "wrong" if not_right <= WRONG_UP_TO else "summary"


def write_allure(
    records: Sequence[Record],
    out: Path,
    *,
    run: RunFacts,
    mode: str,
    texts: Iterable[Text] = (),
    snapshots: Mapping[str, str] | None = None,
    figures: Mapping[str, str] | None = None,
) -> None:
    """Write the results of one model's run.

    Arguments:
        records: the records of a run, finished or interrupted.
        out: the results folder; created if missing. Other files in it stay.
        run: the facts of the run.
        mode: see `choose_mode`.
        texts: questions, tables and prompts, as `read_texts` yields them.
        snapshots: by case id, the change of a stored answer, as a tag.
        figures: pass rate and robustness of each dataset, as `dataset_figures` returns them.

    Raises `SettingsError` for a folder that cannot be written.
    """
    changes, figures = snapshots or {}, figures or {}
    groups: defaultdict[tuple[str, ...], list[Record]] = defaultdict(list)
    where = f"--bench-allure: cannot write into {out}"
    with writing(where, "; choose another folder with --alluredir"):
        start = _milliseconds(run.start)
        logger: Any = AllureFileLogger(out)  # type: ignore[no-untyped-call]
        attachments = _Attachments(logger, start)
        for record in records:
            key = (record.benchmark, record.dataset, record.serializer, record.perturbation)
            groups[key].append(record)
            is_right = kind_of(record) is None
            if mode == "all" or (mode == "wrong" and not is_right):
                result = case_result(record, start, changes.get(record.case_id))
                if not is_right:
                    result.attachments = attachments.attach(result.uuid, record)
                logger.report_result(result)
        for (_, dataset, *_), group in groups.items():
            if mode == "summary" or (mode == "wrong" and None in map(kind_of, group)):
                result = group_result(group, start, right_only=mode == "wrong")
                result.description = figures.get(dataset)
                logger.report_result(result)
        attachments.share(texts)
        _write_facts(out, run, mode, records, figures)


class _Attachments:
    """The texts that cases need, each written once."""

    def __init__(self, logger: Any, start: int) -> None:
        self._logger = logger
        self._start = start
        self._left = BUDGET
        self._cases_by_text: defaultdict[str, list[str]] = defaultdict(list)
        self._prompts = 0

    def attach(self, case: str, record: Record) -> list[model2.Attachment]:
        """Return the reply of a case if it is long; note that it needs its other texts."""
        example = example_key(record.dataset, record.example_id, record.perturbation)
        self._cases_by_text[f"e{example}"].append(case)
        prompt = f"p{record.prompt_digest}"
        if record.prompt_digest and (self._prompts < PROMPTS or prompt in self._cases_by_text):
            self._prompts += 1
            self._cases_by_text[prompt].append(case)
        is_long = record.raw and len(record.raw) > REPLY_SHOWN
        return self._attachment("reply", record.raw or "") if is_long else []

    def share(self, texts: Iterable[Text]) -> None:
        """Attach questions, tables and prompts to the cases that need them."""
        when = {"start": self._start, "stop": self._start}
        for entry in texts:
            if isinstance(entry, PromptText):
                key, title = f"p{entry.digest}", "prompt"
            elif isinstance(entry, ExampleText):
                key, title = f"e{entry.id}", "question and table"
            else:
                continue
            cases = self._cases_by_text.pop(key, None)
            if not cases:
                continue
            text = entry.text if isinstance(entry, PromptText) else _example_text(entry)
            if attached := self._attachment(title, text):
                before = model2.TestBeforeResult(title, attachments=attached, **when)
                before.status, before.stage = model2.Status.PASSED, "finished"
                container = model2.TestResultContainer(
                    uuid=str(uuid.uuid4()), children=cases, befores=[before], **when
                )
                self._logger.report_container(container)

    def _attachment(self, title: str, text: str) -> list[model2.Attachment]:
        """Write a text, and return it as an attachment; empty if it exceeds the budget."""
        content = cut(text, ATTACHMENT).encode("utf-8")
        if len(content) > self._left:
            return []
        self._left -= len(content)
        source = model2.ATTACHMENT_PATTERN.format(prefix=uuid.uuid4(), ext="txt")
        self._logger.report_attached_data(content, source)
        return [model2.Attachment(name=title, source=source, type="text/plain")]


def _example_text(example: ExampleText) -> str:
    """Return question and tables as plain text, with bars between cells."""
    rows: list[Sequence[Any]] = [[example.question]]
    for table in example.tables:
        title = [[table["title"]]] if table.get("title") else []
        rows += [[""], *title, table["header"], *table["rows"]]
    cells = (["" if cell is None else printable(str(cell)) for cell in row] for row in rows)
    return "".join(f"{' | '.join(row)}\n" for row in cells)


def categories(reasons: Iterable[str]) -> list[dict[str, Any]]:
    """Return the content of `categories.json`: a category for each kind of failure.

    Allure 2 matches the whole message, Allure 3 searches in it. The expressions start at the
    message's beginning and so give the same result in both.
    """
    kinds = {
        "Truncated answers": "truncated answer",
        "Unreadable answers": "unreadable answer",
        "Wrong answers": "wrong answer",
        "Right answers that fail a check": FAILED_CHECK,
        **{f"No answer: {reason}": f"no answer: {reason}" for reason in sorted(set(reasons))},
    }
    return [
        {
            "name": name,
            "matchedStatuses": [status_of(kind)],
            "messageRegex": f"^{kind}(?:[^A-Za-z0-9_-][\\s\\S]*)?$",
        }
        for name, kind in kinds.items()
    ]


def _write_facts(
    out: Path, run: RunFacts, mode: str, records: Sequence[Record], figures: Mapping[str, str]
) -> None:
    """Write the categories, for Allure 2 and Allure 3, and the environment."""
    ours = categories(reason_of(record) for record in records if record.outcome == "no_answer")
    names, theirs, path = {rule["name"] for rule in ours}, [], out / "categories.json"
    with suppress(ValueError):
        theirs = listing(parsed_json(path.read_bytes() if path.exists() else ""))
    theirs = [rule for rule in theirs if mapping(rule).get("name") not in names]
    write_whole(path, json.dumps([*theirs, *ours]))
    # Nearly all messages differ, so datasets group the cases of a category.
    by_dataset = {"groupByMessage": False, "groupBy": [{"label": "feature"}]}
    rules = [{**rule, **by_dataset} for rule in ours]
    content = {"name": f"tablebench: {run.model}", "categories": {"rules": rules}}
    write_whole(out / "allurerc.json", json.dumps(content, indent=2) + "\n")
    path = out / "environment.properties"
    before = path.read_text("utf-8", "replace") if path.exists() else ""
    write_whole(path, environment_text(run, mode, before, records, figures))


def environment_text(
    run: RunFacts,
    mode: str,
    before: str = "",
    records: Sequence[Record] = (),
    figures: Mapping[str, str] | None = None,
) -> str:
    """Return `environment.properties`: the settings of the run and the tests' pass rates.

    `figures` is from `dataset_figures`. Lines of `before`, the former content, come first unless
    they set the same key.
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
    for (dataset, name), passed in check_counts(records).items():
        rate = f"{percent(passed[True] / passed.total())} of {passed.total()}"
        facts[f"{dataset}::{name}.pass_rate"] = rate
    facts |= {f"version.{name}": v for name, v in run.versions.items()}
    facts |= {f"host.{name}": value for name, value in run.host.items()}
    properties = {
        re.sub(r"([ =:#!])", r"\\\1", _escaped(name)): re.sub("^ ", r"\\ ", _escaped(str(value)))
        for name, value in facts.items()
        if value not in (None, "")
    }
    others = [line for line in before.splitlines() if line and line.split("=")[0] not in properties]
    return "\n".join([*others, *(f"{name}={value}" for name, value in properties.items())]) + "\n"


def _escaped(text: str) -> str:
    """Return a text in the escapes of Java's property files, which are those of JSON."""
    return json.dumps(printable(text, 1000))[1:-1].replace('\\"', '"')


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


def _milliseconds(start: Any) -> int:
    try:
        moment = datetime.fromisoformat(str(start))
    except ValueError:
        moment = datetime.now(UTC)
    return round(moment.timestamp() * 1000)
