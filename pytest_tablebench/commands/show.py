"""`tablebench show RUN CASE`: one case whole, with its prompt and the reply as it came."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import escaped, printable

if TYPE_CHECKING:
    from pytest_tablebench.results import Record

__all__ = ["add_parser"]

MOST = 5
"""Cases that are named where several are meant."""


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    found = commands.add_parser("show", help="one case of a run: prompt, reply, score")
    found.add_argument("run", type=Path, metavar="RUN", help="run folder")
    found.add_argument(
        "case", metavar="CASE", help="case id, its beginning, or the node id of its test"
    )
    found.set_defaults(lines=_show)


def _show(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.results.loaded_run import load_run

    record = _find(load_run(given.run).records, given.case)
    texts = _texts(given.run, record)
    lines = [f"case: {printable(record.case_id, 300)}", f"model: {printable(record.model, 200)}"]
    lines += ["prompt:", *_block(texts.get(record.prompt_digest or "", ""))]
    for who, text in texts.get(record.transcript or "", ()):
        lines += [f"{printable(who, 40)}:", *_block(text)]
    if record.raw is not None:
        lines += ["reply:", *_block(record.raw)]
    lines.append(f"expected: {printable(' | '.join(map(str, record.references)), 2000)}")
    if record.score is None:
        return [*lines, f"no answer: {printable(record.reason or '', 300)}"], 0
    lines.append(f"read as: {printable(str(record.prediction), 2000)}")
    judged = str(record.metric)
    if record.threshold is not None:
        judged += f", right from {record.threshold:g}"
    verdict = "no verdict" if record.outcome == "scored" else record.outcome
    return [*lines, f"score: {record.score:.3f}, {verdict} ({printable(judged, 200)})"], 0


def _find(records: tuple[Record, ...], wanted: str) -> Record:
    """Return the case that is meant; of its repeats the first."""
    exact = [one for one in records if one.case_id == wanted]
    if exact:
        return exact[0]
    inside = wanted.rpartition("[")[2].removesuffix("]") if wanted.endswith("]") else ""
    found = [
        one
        for one in records
        if one.case_id.startswith(wanted)
        or (inside and one.case_id.partition("/")[2].replace("/", "-").lower() == inside.lower())
    ]
    if len({one.case_id for one in found}) == 1:
        return found[0]
    if not found:
        raise SettingsError(
            f"no case is called {printable(wanted, 200)}; case ids are like "
            f"{printable(records[0].case_id, 200) if records else 'DATASET/EXAMPLE/html/none'}"
        )
    names = [printable(one.case_id, 200) for one in found[:MOST]]
    raise SettingsError(
        f"{len(found)} cases begin with {printable(wanted, 200)}: {', '.join(names)}"
        + (", ..." if len(found) > MOST else "")
    )


def _texts(run: Path, record: Record) -> dict[str, Any]:
    """Return what was kept of the case, by digest: its prompt, and what was said behind it."""
    from pytest_tablebench.results.texts import TEXTS, PromptText, TranscriptText, read_texts

    path = run / TEXTS
    found: dict[str, Any] = {}
    for text in read_texts(path) if path.is_file() else ():
        if isinstance(text, PromptText) and text.digest == record.prompt_digest:
            found[text.digest] = text.text
        elif isinstance(text, TranscriptText) and text.digest == record.transcript:
            found[text.digest] = text.turns
    return found


def _block(text: str) -> Iterator[str]:
    for line in text.splitlines() or ["(not kept)"]:
        yield f"  {escaped(line)}"
