"""Functions that read a run for exporters.

An exporter is a function that writes a run into an existing folder in the format of another tool,
without computing figures, and returns the files written. The same run gives the same bytes. Every
format keeps the three outcomes apart: no answer is never a wrong answer. An exporter raises
`SettingsError` if the format cannot express the run without another option, `DataError` for a run
without cases, and `OSError`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.errors import DataError
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.texts import (
    TEXTS,
    ExampleText,
    PromptText,
    TextWriter,
    example_key,
    read_texts,
)

LIBRARY = "pytest-tablebench"
"""The name of this library in other formats."""

PARAMETERS = ("temperature", "top_p", "top_k", "max_tokens")
"""The parameters that have names in other formats."""


@dataclass(frozen=True)
class RunTexts:
    """The texts of a run: prompts and transcripts by digest, questions by example."""

    prompts: dict[str, str] = field(default_factory=dict)
    transcripts: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, case: Record | None = None) -> RunTexts:
        """Read the texts of a run, or of one case; they may be missing."""
        texts = cls()
        for text in read_texts(run.path / TEXTS):
            digest = getattr(text, "digest", None)
            if case is not None and digest not in {case.prompt_digest, case.transcript}:
                continue
            if isinstance(text, PromptText):
                texts.prompts[text.digest] = text.text
            elif isinstance(text, ExampleText):
                texts.questions[text.id] = text.question
            else:
                texts.transcripts[text.digest] = text.turns
        return texts

    def write(self, path: Path) -> None:
        """Write the texts, without tables, into a new file of a run folder."""
        writer = TextWriter(path)
        try:
            for digest, text in self.prompts.items():
                writer.prompt(digest, text)
            for digest, turns in self.transcripts.items():
                writer.transcript(digest, turns)
            for key, question in self.questions.items():
                writer.example(key, question, ())
        finally:
            writer.close()

    def prompt(self, record: Record) -> str | None:
        """Return the prompt of a case; None if it is missing."""
        return self.prompts.get(record.prompt_digest or "")

    def turns(self, record: Record) -> Sequence[tuple[str, str]]:
        """Return the conversation after the prompt; empty if it is only the answer."""
        return self.transcripts.get(record.transcript or "", ())

    def question_or_prompt(self, record: Record) -> str:
        """Return the question, or else the prompt; empty if both are missing."""
        question = self.question(record)
        return question if question is not None else self.prompt(record) or ""

    def question(self, record: Record) -> str | None:
        """Return the question; None if it is missing."""
        key = (record.dataset, record.example_id, record.perturbation)
        return self.questions.get(example_key(*key))


def json_text(value: Any) -> str | None:
    """Return a text or None unchanged, and any other value as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def records_by(run: Run, name: str) -> dict[str, list[Record]]:
    """Return a run's records by the value of a field. Raises `DataError` without records."""
    groups: dict[str, list[Record]] = {}
    for record in run.records:
        groups.setdefault(str(getattr(record, name)), []).append(record)
    if not groups:
        raise DataError(f"{run.path} has no recorded case, so there is nothing to export")
    return groups


def scopes_of(run: Run) -> dict[str, Mapping[str, Any]]:
    """Return the figures of a run's benchmarks and datasets by name; a dataset's name wins."""
    benchmarks = summary_of(run)["benchmarks"]
    scopes: dict[str, Mapping[str, Any]] = dict(benchmarks)
    for benchmark in benchmarks.values():
        scopes |= benchmark["datasets"]
    return scopes


def moment(*texts: str | None) -> datetime:
    """Return the first of these times that can be read; 1970 without any."""
    for text in texts:
        try:
            time = datetime.fromisoformat(text or "")
        except ValueError:
            continue
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)


def tokens_of(record: Record) -> dict[str, int] | None:
    """Return the tokens of a case by their names in other formats; None if a number is unknown."""
    sent, received = record.prompt_tokens, record.completion_tokens
    if sent is None or received is None:
        return None
    return {"input_tokens": sent, "output_tokens": received, "total_tokens": sent + received}


def run_uuid(run: Run, part: str) -> uuid.UUID:
    """Return an id for a part of a run, always the same, in the form of a version 4 UUID."""
    marks = map(str, (run.facts.model, run.facts.start, run.facts.end))
    ids = sorted(record.case_id for record in run.records)
    data = "\n".join([*marks, part, *ids]).encode("utf-8", "surrogatepass")
    return uuid.UUID(bytes=sha256(data).digest()[:16], version=4)


def plain(value: Any) -> Any:
    """Return a JSON value that UTF-8 can encode: lone surrogates become escape sequences."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {plain(str(name)): plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value
