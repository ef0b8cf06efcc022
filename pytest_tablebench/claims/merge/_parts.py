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
from pytest_tablebench.results.folder import RUN, run_folders
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import are, counted, shortened

_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")
_FACTS = (
    "status", "ended", "shard", "start", "end", "cases_planned", "cases_recorded", "calls_paid",
    "calls_repeated", "prompt_tokens", "completion_tokens", "cost_usd", "store_hits", "host",
    "newest_stored", "thinking_tokens", "cases_extended", "served", "server_check",
)  # fmt: skip


def sources_of(run: Run) -> list[RunFacts]:
    """Return the facts of each single pytest run in a run: one, unless it was merged.

    They are the entries to sum up, and `does_not_apply`, which contains the numbers of cases that
    were not collected, by dataset and reason.
    """
    facts = run.facts
    if facts.merged_from is not None:
        return [RunFacts.from_json(entry) for entry in facts.merged_from]
    counts = {name: entry.get("does_not_apply") or {} for name, entry in facts.by_dataset.items()}
    entries = {name: facts.entries.get(name) for name in _FACTS}
    return [RunFacts.from_json({**entries, "does_not_apply": counts})]


def text_of(source: RunFacts) -> str:
    """Return the facts as text, which is equal for the same run in two folders."""
    return json.dumps(source.entries, sort_keys=True, default=str)


def _place(source: RunFacts) -> tuple[int, int] | None:
    """Return the number of a part and of all parts; None for a run that was not split."""
    if source.shard is None:
        return None
    shard_match = _SHARD.fullmatch(source.shard)
    if shard_match is None:
        label = shortened(repr(source.shard), 60)
        raise ValueError(f"has the part {label}, which is not of the form '1/3'")
    return int(shard_match[1]), int(shard_match[2])


def number_of(source: RunFacts) -> int | None:
    """Return the number of a part; None for a run that was not split."""
    shard = _place(source)
    return None if shard is None else shard[0]


def _split(run: Run) -> int | None:
    """Return the number of parts of a run; None if it was not split."""
    try:
        splits = {shard and shard[1] for shard in map(_place, sources_of(run))}
    except ValueError as error:
        raise _broken(run, str(error)) from None
    if len(splits) != 1:
        raise _broken(run, "contains no runs, or parts of different runs, under merged_from")
    return splits.pop()


def _examples(run: Run) -> Mapping[str, Sequence[int]]:
    """Return the number of examples of each part, by dataset; empty if unknown."""
    if any(len(counts) != _split(run) for counts in run.facts.shards.values()):
        raise _broken(run, "lacks the number of examples of each part for some dataset")
    return run.facts.shards


def _broken(run: Run, problem: str) -> SettingsError:
    return SettingsError(f"{run.path / RUN} {problem}; it cannot be merged")


@dataclass(frozen=True)
class RunParts:
    """Run folders that are parts of one run, in an order that does not depend on the command line.

    `notes` are the differences that are allowed.
    """

    parts: tuple[Run, ...]
    notes: tuple[str, ...]
    split: int | None
    """The number of parts of the run; None if it was not split."""
    examples: Mapping[str, Sequence[int]]
    """The number of examples of each part, by dataset; empty if unknown."""

    @cached_property
    def source_runs(self) -> list[RunFacts]:
        """The source runs, each once."""
        by_text = {text_of(source): source for part in self.parts for source in sources_of(part)}
        return sorted(
            by_text.values(), key=lambda source: (number_of(source) or 0, text_of(source))
        )

    @cached_property
    def missing(self) -> list[int]:
        """The numbers of the missing parts, except parts without an example."""
        if self.split is None:
            return []
        present = {number_of(source) for source in self.source_runs}
        sizes = list(zip(*self.examples.values(), strict=True)) or [(1,)] * self.split
        numbered = enumerate(sizes, start=1)
        return [number for number, size in numbered if number not in present and any(size)]

    @property
    def missing_text(self) -> str:
        """Which parts are missing, in words; empty if none is."""
        if not self.missing:
            return ""
        word = "part" if len(self.missing) == 1 else "parts"
        listing = ", ".join(map(str, self.missing[:20])) + (", ..." if self.missing[20:] else "")
        examples = sum(sizes[n - 1] for sizes in self.examples.values() for n in self.missing)
        example_count = f" ({counted(examples, 'example')})" if examples else ""
        return f"{word} {listing} of {self.split} {are(len(self.missing))} missing{example_count}"

    def groups(self) -> dict[int | None, list[RunFacts]]:
        """Return the runs of each part, which may have run twice."""
        by_number: dict[int | None, list[RunFacts]] = {}
        for source in self.source_runs:
            by_number.setdefault(number_of(source), []).append(source)
        return by_number

    @property
    def unfinished(self) -> str | None:
        """Why not all planned cases are recorded; None if they are."""
        if self.missing:
            return self.missing_text
        for number, sources in self.groups().items():
            incomplete = [source for source in sources if not source.is_complete]
            # A part may have run twice, and one complete run is enough.
            if incomplete and (number is None or len(incomplete) == len(sources)):
                why = incomplete[0].ended
                name = "a run" if number is None else f"part {number} of {self.split}"
                has_reason = why not in (None, "", "interrupted")
                reason = f": {shortened(str(why), 200)}" if has_reason else ""
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
    parts = sorted(map(load_run, folders.values()), key=_order)
    notes: dict[str, None] = {}
    for part in parts[1:]:
        notes |= dict.fromkeys(_allowed_differences(parts[0], part))
    return RunParts(tuple(parts), tuple(notes), _split(parts[0]), _examples(parts[0]))


def _order(part: Run) -> tuple[Any, ...]:
    numbers = [number_of(source) or 0 for source in sources_of(part) if _split(part)]
    return numbers, str(part.facts.start), json.dumps(part.facts.entries, sort_keys=True)


def _allowed_differences(first: Run, other: Run) -> list[str]:
    """Return the differences of two parts. Raises `SettingsError` for one that is not allowed."""
    both = f"{first.path} and {other.path}"
    try:
        check_alike(
            first.facts, other.facts, hint="Only parts of one run can be merged", of_one_run=True
        )
    except SettingsError as error:
        raise SettingsError(f"{both}: {error}") from None
    splits = _split(first), _split(other)
    if splits[0] != splits[1]:
        first_text, second_text = (
            "is not split" if split is None else f"is one of {split} parts" for split in splits
        )
        raise SettingsError(
            f"{both} are not parts of one run: the first {first_text}, the second {second_text}"
        )
    first_examples, second_examples = _examples(first), _examples(other)
    for dataset in sorted({*first_examples, *second_examples}):
        if first_examples.get(dataset) != second_examples.get(dataset):
            first_text, second_text = (
                "none" if counts is None else f"{sum(counts):,}"
                for counts in (first_examples.get(dataset), second_examples.get(dataset))
            )
            raise SettingsError(
                f"{both} were split from different cases: of {dataset} the first "
                f"has {first_text} examples and the second {second_text}, or their tables differ"
            )
    return [
        f"{difference.name} differs: {shortened(difference.before, 120)} and "
        f"{shortened(difference.after, 120)} ({difference.meaning})"
        for difference in differences_between(first.facts, other.facts)
        if difference.name != "shard"
    ]
