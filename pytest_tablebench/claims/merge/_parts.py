"""Check that runs are parts of one run, and find missing parts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.differences import check_alike, differences_between
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.folder import RUN, read_run_json, run_folders
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import are, counted, printable

MERGED = "merged_from"
"""The entry of a merged `run.json` with the facts of each source run."""

_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")
_FACTS = (
    "status", "ended", "shard", "start", "end", "cases_planned", "cases_recorded", "calls_paid",
    "calls_repeated", "prompt_tokens", "completion_tokens", "cost_usd", "store_hits", "host",
    "newest_stored", "thinking_tokens", "cases_extended", "served", "server_check",
)  # fmt: skip


@dataclass(frozen=True)
class SourceRun:
    """A single pytest run; a merged run has several.

    `facts` are the entries of its `run.json` to sum up, and `does_not_apply`, which contains the
    numbers of cases that were not collected, by dataset and reason.
    """

    facts: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The facts as text, which is equal for the same run in two folders."""
        return json.dumps(self.facts, sort_keys=True, default=str)

    @property
    def place(self) -> tuple[int, int] | None:
        """The number of its part and the number of parts; None for a run that was not split.

        Raises `ValueError` for a malformed entry.
        """
        shard = self.facts.get("shard")
        if shard is None:
            return None
        shard_match = _SHARD.fullmatch(str(shard))
        if shard_match is None:
            raise ValueError(
                f"has the part {printable(repr(shard), 60)}, which is not of the form '1/3'"
            )
        return int(shard_match[1]), int(shard_match[2])

    @property
    def number(self) -> int | None:
        """The number of its part; None for a run that was not split."""
        return None if self.place is None else self.place[0]

    @property
    def complete(self) -> bool:
        """Whether all its planned cases were recorded."""
        return self.facts.get("status") == "complete"

    def count(self, name: str) -> int:
        """Return a number of cases; 0 if it is unknown."""
        number = self.facts.get(name)
        return number if isinstance(number, int) else 0


@dataclass(frozen=True)
class RunPart:
    """A run folder to merge; `run` is the content of its `run.json`."""

    path: Path
    run: Mapping[str, Any]

    @property
    def split(self) -> int | None:
        """The number of parts of the run; None if it was not split."""
        try:
            splits = {source.place and source.place[1] for source in self.source_runs}
        except ValueError as error:
            raise self._broken(str(error)) from None
        if len(splits) != 1:
            raise self._broken(f"contains no runs, or parts of different runs, under {MERGED}")
        return splits.pop()

    @property
    def source_runs(self) -> list[SourceRun]:
        """The source runs: the run itself, unless it was merged."""
        merged = self.run.get(MERGED)
        if merged is None:
            facts = {name: self.run.get(name) for name in _FACTS}
            counts = {
                name: entry.get("does_not_apply") or {}
                for name, entry in mapping(self.run, "by_dataset").items()
                if isinstance(entry, Mapping)
            }
            return [SourceRun({**facts, "does_not_apply": counts})]
        if not isinstance(merged, list) or not all(isinstance(entry, dict) for entry in merged):
            raise self._broken(f"has no list of runs under {MERGED}")
        return [SourceRun(entry) for entry in merged]

    @property
    def examples(self) -> dict[str, list[int]]:
        """The number of examples of each part, by dataset; empty if unknown."""
        shards = self.run.get("shards")
        if shards is None:
            return {}
        if not isinstance(shards, dict) or not all(
            isinstance(counts, list)
            and len(counts) == self.split
            and all(isinstance(count, int) for count in counts)
            for counts in shards.values()
        ):
            raise self._broken("lacks the number of examples of each part for some dataset")
        return shards

    def _broken(self, problem: str) -> SettingsError:
        return SettingsError(f"{printable(str(self.path / RUN))} {problem}; it cannot be merged")


@dataclass(frozen=True)
class RunParts:
    """Run folders that are parts of one run, in an order that does not depend on the command line.

    `notes` are the differences that are allowed.
    """

    parts: tuple[RunPart, ...]
    notes: tuple[str, ...]
    split: int | None
    """The number of parts of the run; None if it was not split."""
    examples: Mapping[str, list[int]]
    """The number of examples of each part, by dataset; empty if unknown."""

    @cached_property
    def source_runs(self) -> list[SourceRun]:
        """The source runs, each once."""
        by_text = {source.text: source for part in self.parts for source in part.source_runs}
        return sorted(by_text.values(), key=lambda source: (source.number or 0, source.text))

    @cached_property
    def missing(self) -> list[int]:
        """The numbers of the missing parts, except parts without an example."""
        if self.split is None:
            return []
        present = {source.number for source in self.source_runs}
        sizes = list(zip(*self.examples.values(), strict=True)) or [(1,)] * self.split
        numbered = enumerate(sizes, start=1)
        return [number for number, size in numbered if number not in present and any(size)]

    @property
    def missing_text(self) -> str:
        """Which parts are missing, in words; empty if none is."""
        if not self.missing:
            return ""
        word = "part" if len(self.missing) == 1 else "parts"
        shown = ", ".join(map(str, self.missing[:20])) + (", ..." if self.missing[20:] else "")
        examples = sum(sizes[n - 1] for sizes in self.examples.values() for n in self.missing)
        about = f" ({counted(examples, 'example')})" if examples else ""
        return f"{word} {shown} of {self.split} {are(len(self.missing))} missing{about}"

    def groups(self) -> dict[int | None, list[SourceRun]]:
        """Return the runs of each part, which may have run twice."""
        by_number: dict[int | None, list[SourceRun]] = {}
        for source in self.source_runs:
            by_number.setdefault(source.number, []).append(source)
        return by_number

    @property
    def unfinished(self) -> str | None:
        """Why not all planned cases are recorded; None if they are."""
        if self.missing:
            return self.missing_text
        for number, sources in self.groups().items():
            incomplete = [source for source in sources if not source.complete]
            # A part may have run twice, and one complete run is enough.
            if incomplete and (number is None or len(incomplete) == len(sources)):
                why = incomplete[0].facts.get("ended")
                name = "a run" if number is None else f"part {number} of {self.split}"
                has_reason = why not in (None, "", "interrupted")
                reason = f": {printable(str(why), 200)}" if has_reason else ""
                return f"{name} was interrupted{reason}"
        return None


def read_parts(paths: Sequence[Path]) -> RunParts:
    """Return the parts in run folders, or in folders of run folders, each once.

    Raises `SettingsError` for a folder that is no run, and for runs that are not parts of one run:
    with unlike settings, other models, limits or splits.
    """
    folders: dict[Path, Path] = {}
    for path in paths:
        for folder in run_folders(path):
            folders.setdefault(real_path(folder), folder)
    parts = sorted((RunPart(path, read_run_json(path)) for path in folders.values()), key=_order)
    notes: dict[str, None] = {}
    for part in parts[1:]:
        notes |= dict.fromkeys(_allowed_differences(parts[0], part))
    return RunParts(tuple(parts), tuple(notes), parts[0].split, parts[0].examples)


def _order(part: RunPart) -> tuple[Any, ...]:
    numbers = [source.number or 0 for source in part.source_runs if part.split]
    return numbers, str(part.run.get("start")), json.dumps(part.run, sort_keys=True)


def _allowed_differences(first: RunPart, other: RunPart) -> list[str]:
    """Return the differences of two parts. Raises `SettingsError` for one that is not allowed."""
    both = f"{printable(str(first.path))} and {printable(str(other.path))}"
    try:
        check_alike(
            first.run, other.run, hint="Only parts of one run can be merged", of_one_run=True
        )
    except SettingsError as error:
        raise SettingsError(f"{both}: {error}") from None
    if first.split != other.split:
        first_text, second_text = (
            "is not split" if split is None else f"is one of {split} parts"
            for split in (first.split, other.split)
        )
        raise SettingsError(
            f"{both} are not parts of one run: the first {first_text}, the second {second_text}"
        )
    first_examples, second_examples = first.examples, other.examples
    for dataset in sorted({*first_examples, *second_examples}):
        if first_examples.get(dataset) != second_examples.get(dataset):
            first_text, second_text = (
                "none" if counts is None else f"{sum(counts):,}"
                for counts in (first_examples.get(dataset), second_examples.get(dataset))
            )
            raise SettingsError(
                f"{both} were split from different cases: of {printable(dataset, 60)} the first "
                f"has {first_text} examples and the second {second_text}, or their tables differ"
            )
    return [
        f"{printable(difference.name, 80)} differs: {printable(difference.before, 120)} and "
        f"{printable(difference.after, 120)} ({difference.meaning})"
        for difference in differences_between(first.run, other.run)
        if difference.name != "shard"
    ]
