"""What all exporters are, and what they read of a run beside its records."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from pytest_tablebench.errors import DataError
from pytest_tablebench.results.loaded_run import LoadedRun
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.texts import (
    TEXTS,
    ExampleText,
    PromptText,
    TextWriter,
    example_key,
    read_texts,
)
from pytest_tablebench.util.entries import mapping

LIBRARY = "pytest-tablebench"
"""What other forms name as the library that made a run."""

PARAMETERS = ("temperature", "top_p", "top_k", "max_tokens")
"""Parameters that other forms have names for."""


class Exporter(Protocol):
    """Writes a run in the form of another tool. It reads, and computes nothing.

    Every form keeps the three outcomes apart: no answer is never a wrong one.
    """

    @property
    def name(self) -> str:
        """What `--to` calls the form."""
        ...

    def write(self, run: LoadedRun, folder: Path) -> list[Path]:
        """Write the run below a folder that is there; return the files that were written.

        The same run gives the same bytes. Raises `SettingsError` for what the form cannot hold
        and an option can mend, `DataError` for a run without cases, `OSError`.
        """
        ...


@dataclass(frozen=True)
class RunTexts:
    """The texts of a run: prompts and transcripts by digest, questions by example."""

    prompts: dict[str, str] = field(default_factory=dict)
    transcripts: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, run: LoadedRun, case: Record | None = None) -> RunTexts:
        """Read the texts of a run, or of one case; none where they were not kept."""
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
        """Write the texts into a new file of a run folder; tables are in none of them."""
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
        """Return what the model was shown first; None where it was not kept."""
        return self.prompts.get(record.prompt_digest or "")

    def turns(self, record: Record) -> Sequence[tuple[str, str]]:
        """Return what was said behind the prompt; nothing where the one reply is the answer."""
        return self.transcripts.get(record.transcript or "", ())

    def question_or_prompt(self, record: Record) -> str:
        """Return the question, else the prompt; empty where neither was kept."""
        question = self.question(record)
        return question if question is not None else self.prompt(record) or ""

    def question(self, record: Record) -> str | None:
        """Return the question; None where it was not kept."""
        key = (record.dataset, record.example_id, record.perturbation)
        return self.questions.get(example_key(*key))


def json_text(value: Any) -> str | None:
    """Return a text or None as it is, and anything else as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def records_by(run: LoadedRun, name: str) -> dict[str, list[Record]]:
    """Return a run's records by what a field of theirs says. Raises `DataError` without any."""
    groups: dict[str, list[Record]] = {}
    for record in run.records:
        groups.setdefault(str(getattr(record, name)), []).append(record)
    if not groups:
        raise DataError(f"{run.path} has no case: there is nothing to export")
    return groups


def moment(run: Mapping[str, Any], *names: str) -> datetime:
    """Return the first of a run's times that it knows (`start`, `end`); 1970 without any."""
    for name in names:
        try:
            time = datetime.fromisoformat(str(run.get(name)))
        except ValueError:
            continue
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)


def version_of(run: Mapping[str, Any], unknown: str = "unknown") -> str:
    """Return the version of this package that made a run."""
    return str(mapping(run, "versions").get(LIBRARY) or unknown)


def tokens_of(record: Record) -> dict[str, int] | None:
    """Return the tokens of a case by the names that other forms have; None if one is unknown."""
    sent, received = record.prompt_tokens, record.completion_tokens
    if sent is None or received is None:
        return None
    return {"input_tokens": sent, "output_tokens": received, "total_tokens": sent + received}


def run_uuid(run: LoadedRun, part: str) -> uuid.UUID:
    """Return an id of the form of version 4 for a part of a run, the same every time."""
    marks = [str(run.run.get(name)) for name in ("model", "start", "end")]
    ids = sorted(record.case_id for record in run.records)
    data = "\n".join([*marks, part, *ids]).encode("utf-8", "surrogatepass")
    return uuid.UUID(bytes=sha256(data).digest()[:16], version=4)


def plain(value: Any) -> Any:
    """Return JSON that UTF-8 can hold: a lone surrogate becomes the text of an escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {plain(str(name)): plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value
