"""`tablebench show RUN CASE`: one case with its prompt and reply."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.results import Record

MOST = 5
"""The number of cases that are listed if a name is ambiguous."""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "show",
        help="show one case of a run: prompt, reply, score",
        description="Show one case of a run: its prompt, the whole reply, the expected answer, how "
        "the reply was parsed, and the score.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument(
        "case",
        nargs="?",
        metavar="CASE",
        help="case id, its beginning, or the node id of its test. Default: list unclear replies",
    )
    parser.set_defaults(lines=_show)


def _show(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.interchange.exporter import RunTexts
    from pytest_tablebench.results.record import UNCLEAR
    from pytest_tablebench.results.run import load_run

    run = load_run(options.run)
    if options.case is None:
        return list(_unclear(run.records)), 0
    record = _find(run.records, options.case)
    texts = RunTexts.of(run, record)
    lines = [f"case: {record.case_id}", f"model: {record.model}"]
    lines += ["prompt:", *_block(texts.prompt(record) or "")]
    times = iter([step.get("latency_s") for step in record.steps])
    for role, text in texts.turns(record):
        seconds = next(times, None) if role in {"reply", "output"} else None
        took = "" if seconds is None else f" ({seconds:.2f} s)"
        lines += [f"{role}{took}:", *_block(text)]
    if record.raw is not None:
        lines += ["reply:", *_block(record.raw)]
    lines.append(f"expected: {' | '.join(map(str, record.references))}")
    by_gold = list(_corrected(record.corrected))
    if record.score is None:
        return [*lines, f"no answer: {record.reason or ''}", *by_gold], 0
    lines.append(f"read as: {record.prediction}")
    judged = str(record.metric)
    if record.threshold is not None:
        judged += f", right from {record.threshold:g}"
    verdict = "no verdict" if record.outcome == "scored" else record.outcome
    lines.append(f"score: {record.score:.3f}, {verdict} ({judged})")
    if record.why is not None:
        word = "unclear" if UNCLEAR in record.flags else "why"
        lines.append(f"{word}: {record.why}")
    return [*lines, *by_gold], 0


def _unclear(records: Iterable[Record]) -> Iterator[str]:
    """Yield the unclear replies, with the expected answers and the reasons."""
    from pytest_tablebench.results.record import UNCLEAR

    unclear = [record for record in records if UNCLEAR in record.flags]
    yield f"{counted(len(unclear), 'unclear reply', 'unclear replies')}, counted as wrong"
    for record in unclear:
        yield record.case_id
        yield f"  expected: {' | '.join(map(str, record.references))}"
        yield f"  got:      {record.raw or ''}"
        yield f"  why:      {record.why or 'no reason'}"


def _corrected(entry: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the line on the corrected gold, if the case has a correction."""
    if entry is None:
        return
    from pytest_tablebench.results.corrected import VERDICT_TEXTS, corrected_outcome

    outcome = corrected_outcome(entry)
    if outcome == "left_out":
        yield f"by corrected gold: left out ({entry['left_out']})"
        return
    result = {"no_answer": "no answer", "scored": "no verdict"}.get(outcome, outcome)
    if entry.get("score") is not None:
        result = f"score {entry['score']:.3f}, {result}"
    verdict = VERDICT_TEXTS.get(str(entry.get("verdict")), "")
    yield f"by corrected gold: {result}" + (f" ({verdict})" if verdict else "")


def _find(records: tuple[Record, ...], case: str) -> Record:
    """Return the record of a case; of its repeats the first."""
    exact = [record for record in records if record.case_id == case]
    if exact:
        return exact[0]
    inside = case.rpartition("[")[2].removesuffix("]") if case.endswith("]") else ""
    matches = [
        record
        for record in records
        if record.case_id.startswith(case)
        or (inside and record.case_id.partition("/")[2].replace("/", "-").lower() == inside.lower())
    ]
    if len({record.case_id for record in matches}) == 1:
        return matches[0]
    if not matches:
        raise SettingsError(
            f"unknown case {case!r}; case ids look like "
            f"{records[0].case_id if records else 'DATASET/EXAMPLE/html/none'}"
        )
    names = [record.case_id for record in matches[:MOST]]
    raise SettingsError(
        f"{len(matches)} cases begin with {case}: {', '.join(names)}"
        + (", ..." if len(matches) > MOST else "")
    )


def _block(text: str) -> Iterator[str]:
    for line in text.splitlines() or ["(not kept)"]:
        yield f"  {line.expandtabs()}"
