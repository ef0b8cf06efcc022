"""Attachments of cases that are not right: question with table, prompt, long reply.

Allure 3 shows an attachment only at its first reference. A text that several cases share is
therefore attached once, to the set-up of a container of these cases; Allure 2 and 3 show it under
each case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from allure_commons.model2 import Attachment, Status, TestBeforeResult, TestResultContainer

from pytest_tablebench.reports.allure._files import Folder
from pytest_tablebench.reports.allure._shape import Stamp, shown
from pytest_tablebench.results.texts import (
    ExampleText,
    PromptText,
    Text,
    TranscriptText,
    example_key,
)
from pytest_tablebench.util.names import printable

ATTACHMENT = 256_000
"""Characters of one attachment; the rest of the text is in the run folder."""

BUDGET = 64_000_000
"""Bytes of all attachments together; more would slow down report generators."""

PROMPTS = 500
"""The number of attached prompts, the first of the run; all are in the run folder."""

_PLAIN = "text/plain"


class Attachments:
    """Collects the texts that cases need, and writes each text once."""

    def __init__(self, folder: Folder, stamp: Stamp) -> None:
        self.folder = folder
        self.stamp = stamp
        self._bytes = 0
        self._cases_by_text: dict[str, list[str]] = {}
        self._prompts = 0

    def attach_example(self, uuid: str, dataset: str, example_id: str, perturbation: str) -> None:
        """Attach question and table to a case when the texts are read."""
        key = "e" + example_key(dataset, example_id, perturbation)
        self._cases_by_text.setdefault(key, []).append(uuid)

    def attach_prompt(self, uuid: str, digest: str | None) -> None:
        """Attach the prompt to a case, up to `PROMPTS` of them."""
        if digest is not None and (self._prompts < PROMPTS or f"p{digest}" in self._cases_by_text):
            self._prompts += 1
            self._cases_by_text.setdefault(f"p{digest}", []).append(uuid)

    def reply(self, name: str, text: str) -> list[Attachment]:
        """Attach a long reply to its case."""
        source = self._write(self.stamp.uuid(f"reply/{name}"), text)
        return [Attachment(name="reply", source=source, type=_PLAIN)] if source else []

    def add(self, texts: Iterable[Text]) -> None:
        """Write the texts that are attached to a case."""
        # Compare contents, because several examples may share a table.
        shared: dict[str, tuple[str, str, list[str]]] = {}
        for entry in texts:
            if isinstance(entry, TranscriptText):
                continue
            key = f"p{entry.digest}" if isinstance(entry, PromptText) else f"e{entry.id}"
            children = self._cases_by_text.pop(key, None)
            if not children:
                continue
            if isinstance(entry, PromptText):
                title, text = "prompt", entry.text
            else:
                title, text = "question and table", example_text(entry)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            if digest in shared:
                shared[digest][2].extend(children)
                continue
            source = self._write(self.stamp.uuid(f"text/{digest}"), text)
            if source:
                shared[digest] = title, source, children
        when = {"start": self.stamp.start_ms, "stop": self.stamp.start_ms}
        for digest, (title, source, children) in shared.items():
            uuid = self.stamp.uuid(f"container/{digest}")
            attached = [Attachment(name=title, source=source, type=_PLAIN)]
            before = TestBeforeResult(
                name=title, status=Status.PASSED, stage="finished", attachments=attached, **when
            )
            cases = list(dict.fromkeys(children))
            container = TestResultContainer(uuid=uuid, children=cases, befores=[before], **when)
            self.folder.write_json(f"{uuid}-container.json", container)

    def _write(self, uuid: str, text: str) -> str | None:
        data = shown(text, ATTACHMENT).encode("utf-8", "backslashreplace")
        if self._bytes + len(data) > BUDGET:
            return None
        self._bytes += len(data)
        name = f"{uuid}-attachment.txt"
        self.folder.write(name, data)
        return name


def example_text(example: ExampleText) -> str:
    """Return question and tables as plain text, with bars between cells."""
    lines = [printable(example.question)]
    for table in example.tables:
        lines.append("")
        if table.get("title"):
            lines.append(printable(str(table["title"])))
        lines += [_row(row) for row in (table["header"], *table["rows"])]
    return "\n".join(lines) + "\n"


def _row(row: Mapping[str, Any] | Sequence[Any]) -> str:
    return " | ".join("" if cell is None else printable(str(cell)) for cell in row)
