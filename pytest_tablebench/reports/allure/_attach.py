"""The folder of results, and attachments of cases that are not right.

Allure 3 shows an attachment only at its first reference. A text that several cases share is
therefore attached once, to the set-up of a container of these cases; Allure 2 and 3 show it under
each case.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from allure_commons.model2 import Attachment, Status, TestBeforeResult, TestResultContainer

from pytest_tablebench.reports.allure._shape import REPLY_SHOWN, Stamp, shown
from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import ExampleText, PromptText, Text, example_key
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable

ATTACHMENT = 256_000
"""Characters of one attachment; the rest of the text is in the run folder."""

BUDGET = 64_000_000
"""Bytes of all attachments together; more would slow down report generators."""

PROMPTS = 500
"""The number of attached prompts, the first of the run; all are in the run folder."""

_OURS = re.compile(r"[0-9a-f-]{36}-(?:result\.json|container\.json|attachment\.txt)")


class Folder:
    """A folder of results. A generator that watches it never sees half a file."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._names: set[str] = set()

    def write(self, name: str, content: Any) -> None:
        """Write one file whole, over an older one of that name.

        `content` is text, or an item of Allure's model or built-in types as JSON.
        """
        text = content if isinstance(content, str) else json.dumps(content, default=_filled)
        write_whole(self.path / name, text)
        self._names.add(name)

    def drop_stale(self, listing: str) -> None:
        """Delete the files in `listing`, of an earlier writing, that this writing has not replaced.

        Then write the names of the new files to `listing`. Only names of results are deleted.
        """
        for name in self.read(listing).split():
            if name not in self._names and _OURS.fullmatch(name):
                (self.path / name).unlink(missing_ok=True)
        self.write(listing, "\n".join(sorted(filter(_OURS.fullmatch, self._names))))

    def read(self, name: str) -> str:
        """Return the content of a file, or an empty text without one."""
        try:
            return (self.path / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _filled(item: Any) -> dict[str, Any]:
    """Return the fields that are set, as allure-python-commons writes them."""
    return {
        name: value for name, value in vars(item).items() if value or value is False or value == 0
    }


class Attachments:
    """Collects the texts that cases need, and writes each text once."""

    def __init__(self, folder: Folder, stamp: Stamp) -> None:
        self._folder = folder
        self._stamp = stamp
        self._bytes = 0
        self._cases_by_text: dict[str, list[str]] = {}
        self._prompts = 0

    def attach(self, uuid: str, record: Record) -> list[Attachment]:
        """Attach question, table and prompt to a case when the texts are read.

        Returns its reply as an attachment if it is long. Up to `PROMPTS` prompts are attached.
        """
        example = example_key(record.dataset, record.example_id, record.perturbation)
        self._cases_by_text.setdefault(f"e{example}", []).append(uuid)
        prompt = f"p{record.prompt_digest}"
        if record.prompt_digest and (self._prompts < PROMPTS or prompt in self._cases_by_text):
            self._prompts += 1
            self._cases_by_text.setdefault(prompt, []).append(uuid)
        if not record.raw or len(record.raw) <= REPLY_SHOWN:
            return []
        source = self._write(f"reply/{record.case_id}", record.raw)
        return [_attachment("reply", source)] if source else []

    def add(self, texts: Iterable[Text]) -> None:
        """Write the texts that are attached to a case."""
        # Compare contents, because several examples may share a table.
        shared: dict[str, tuple[str, str | None, list[str]]] = {}
        for entry in texts:
            if isinstance(entry, PromptText):
                key, title, text = f"p{entry.digest}", "prompt", entry.text
            elif isinstance(entry, ExampleText):
                key, title, text = f"e{entry.id}", "question and table", ""
            else:
                continue
            children = self._cases_by_text.pop(key, None)
            if not children:
                continue
            text = example_text(entry) if isinstance(entry, ExampleText) else text
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            if digest not in shared:
                shared[digest] = title, self._write(f"text/{digest}", text), []
            shared[digest][2].extend(children)
        when = {"start": self._stamp.start_ms, "stop": self._stamp.start_ms}
        for digest, (title, source, children) in shared.items():
            if source is None:
                continue
            uuid = self._stamp.uuid(f"container/{digest}")
            attached = [_attachment(title, source)]
            before = TestBeforeResult(
                name=title, status=Status.PASSED, stage="finished", attachments=attached, **when
            )
            cases = list(dict.fromkeys(children))
            container = TestResultContainer(uuid=uuid, children=cases, befores=[before], **when)
            self._folder.write(f"{uuid}-container.json", container)

    def _write(self, name: str, text: str) -> str | None:
        """Write a text, and return the name of its file; None if it exceeds the budget."""
        content = shown(text, ATTACHMENT)
        size = len(content.encode("utf-8", "backslashreplace"))
        if self._bytes + size > BUDGET:
            return None
        self._bytes += size
        source = f"{self._stamp.uuid(name)}-attachment.txt"
        self._folder.write(source, content)
        return source


def _attachment(title: str, source: str) -> Attachment:
    return Attachment(name=title, source=source, type="text/plain")


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
