"""TReB's subtasks as datasets, one per entry in `subtasks.toml` (spec: treb.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import AnswerForm, AnswerPlace, PromptParts, Render
from pytest_tablebench.datasets._example import Example, Stratum
from pytest_tablebench.datasets._file_dataset import FileDataset, Opened
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.files import how_to_get
from pytest_tablebench.datasets.treb._samples import (
    Sample,
    Subtask,
    dataset_name,
    instructions,
    known_subtasks,
    sample_files,
    sample_of,
    samples_in,
    subtask_in,
    subtask_of,
)
from pytest_tablebench.datasets.treb._tables import as_given, table_name, tables_of
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.metrics.chinese import is_chinese
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import shortened

FOLDER = "treb"

MODES = ("tcot", "pot", "icot")
"""The strategies of the benchmark."""

OWN_INSTRUCTIONS = (
    "asked are the project's own instructions, each with its rule: upstream's rules are code"
)


AS_GIVEN = "Markdown and HTML of unchanged tables are upstream's own"


class TReB(FileDataset[Sample], section="treb"):
    """One subtask. All subtasks share one data folder."""

    def __init__(self, subtask: Subtask) -> None:
        self.subtask = subtask
        self.name = dataset_name(subtask.name)
        self.metric = "treb_instruction" if subtask.main == "follow" else "treb"
        self.threshold = subtask.thresholds[subtask.main]
        self.judged_threshold = subtask.thresholds[subtask.judged]
        self.tables = subtask.has_tables
        self.strategy = "tcot" if self.tables else "direct"
        form = AnswerForm(
            subtask.wordings[0] or AnswerForm().ask,
            judged="reply" if subtask.system else "place",
            prompt=self.bare_prompt,
            system=subtask.system or None,
            remark=subtask.remark,
        )
        programs = replace(form, prompt=self.frames_first)
        self.answer_forms = {
            "line": form,
            "object": form,
            "printed": programs,
            "box": programs,
        }

    def worded(self, place: AnswerPlace, form: AnswerForm, texts: Mapping[str, str]) -> AnswerForm:
        """Return the form with the paper's system message for its mode, or for summaries."""
        modes = {"object": "tcot", "printed": "pot", "box": "icot"}
        name = "table_summary" if self.subtask.name == "Table_Summary" else modes.get(place, "")
        if self.subtask.skill == "NLU":
            return form
        return replace(form, system=texts[name]) if place in modes and name in texts else form

    def open(self, folder: Path, *, compat: Compat = "fixed", **_: Any) -> RowSource[Sample]:
        """Open the files with samples of the subtask. Raises `DataMissing` or `DataError`."""
        files = self._files(folder)
        opened = Opened(folder, compat, "TReB")
        samples = cache(lambda: {table_name(sample): sample for sample in source.rows()})

        def as_upstream(table: Table, serializer: str) -> str | None:
            """Return upstream's own Markdown or HTML, which `reference` shows."""
            if compat == "fixed":
                return None
            return as_given(samples().get(table.name or ""), serializer)

        source = self.opened_source(
            opened,
            self._rows(opened, files),
            tuple,
            files=[path.relative_to(folder).as_posix() for path in files],
            notes=(*self._notes(), *([AS_GIVEN] if compat == "reference" else [])),
            place=f"{self.subtask.name} in {folder}",
            as_given=as_upstream,
        )
        if not source.example_ids(1) and not opened.problems:
            raise self._missing(folder)
        return source

    def _files(self, folder: Path) -> list[Path]:
        """Return the files with the subtask's name, and the files without any subtask's name."""
        if not folder.is_dir():
            raise self._missing(folder)
        paths = [
            path for path in sample_files(folder) if subtask_in(path) in (None, self.subtask.name)
        ]
        if not paths:
            raise self._missing(folder)
        return paths

    def _missing(self, folder: Path) -> DataMissing:
        remedy = how_to_get(self.fetch, folder)
        return DataMissing(f"no samples of TReB in {folder}; {remedy}")

    def _notes(self) -> tuple[str, ...]:
        if self.metric == "treb_instruction":
            return (OWN_INSTRUCTIONS,)
        if self.subtask.is_listed:
            return ()
        return (
            f"{shortened(self.subtask.name, 80)} is not a known subtask; it is asked and "
            f"scored by the defaults",
        )

    def _rows(self, opened: Opened, files: Iterable[Path]) -> Iterator[Sample]:
        """Yield the samples of the subtask; report unusable rows to `opened`."""
        if self.metric == "treb_instruction":
            yield from instructions()
            return
        seen: set[str] = set()
        for path in files:
            name = path.relative_to(opened.folder).as_posix()
            for number, subtask, row in samples_in(path):
                if subtask is None or dataset_name(subtask) == self.name:
                    make = partial(sample_of, row, path, opened, number)
                    sample = opened.checked(shortened(name, 120), number, make, seen)
                    if sample is not None:
                        yield sample

    def example(self, sample: Sample) -> Example:
        """Make the example of a sample. Raises `DataError` for a sample with a fault."""
        subtask = self.subtask
        if sample.fault is not None:
            raise DataError(f"{sample.location}, {sample.fault}")
        tables = tables_of(sample)
        titles = [title for title in sample.titles if title] if subtask.titles else []
        inputs: dict[str, Any] = {"question": "\n".join([sample.question, *titles])}
        for number, sample_table in enumerate(tables, start=1):
            shown = sample_table.table if sample_table.table is not None else sample_table.text
            if shown:
                inputs["table" if len(tables) == 1 else f"table {number}"] = shown
        faults = [fault for sample_table in tables for fault in sample_table.faults]
        return Example(
            id=sample.id,
            inputs=inputs,
            question=sample.question,
            references=(sample.answer,),
            target=sample.answer,
            context={
                "question": inputs["question"],
                "scores": subtask.scores,
                "main": subtask.main,
                "number": sample.number,
                **sample.context,
            },
            tags={
                **self._tags(sample),
                "tables": str(sum(sample_table.table is not None for sample_table in tables)),
                "read_from": "+".join(dict.fromkeys(sample_table.source for sample_table in tables))
                or "none",
                **({"fault": "+".join(dict.fromkeys(faults))} if faults else {}),
            },
        )

    def _tags(self, sample: Sample) -> dict[str, str]:
        """Return the tags that do not depend on the tables."""
        return {
            "skill": self.subtask.skill,
            "form": self.subtask.form,
            "language": "zh" if is_chinese(sample.question) else "en",
        }

    def stratum(self, sample: Sample) -> Stratum:
        """Return the tags without tables, and the sample's first table."""
        table = (sample.csv or sample.markdown or sample.html or (sample.id,))[0]
        return Stratum(tuple(sorted(self._tags(sample).items())), table)

    def does_not_apply(self, sample: Sample, serializer: str, perturbation: str) -> str | None:  # noqa: ARG002
        """Return why the sample is skipped: its answer names positions in the unchanged table."""
        changed = self.subtask.order and perturbation != "none"
        return "the answer names rows or columns by their places" if changed else None

    def refuses(self, strategy: str) -> str | None:
        """Return why the subtask does not run with a strategy; None if it does.

        The benchmark runs each subtask with some of its three strategies. It does not restrict
        other strategies.
        """
        mode = strategy.partition("[")[0]
        if mode not in MODES or mode in self.subtask.modes:
            return None
        return f"the benchmark does not ask it by {mode}"

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt: how to answer, the question, each of the tables."""
        english, chinese = self.subtask.wordings
        instruction = f"Reply with {english}, and with nothing else." if english else ""
        if is_chinese(example.question):
            instruction = f"请只回答{chinese}。" if chinese else ""
        return PromptParts(instruction, self._source(example, render))

    def bare_prompt(self, example: Example, render: Render) -> PromptParts:
        """Return question and tables only; the strategy adds where to write the answer."""
        return PromptParts("", self._source(example, render))

    def frames_first(self, example: Example, render: Render) -> PromptParts:
        """Return tables, then question: the order in which the benchmark requests programs."""
        question = example.inputs["question"]
        source = self._source(example, render).removeprefix(question).lstrip("\n")
        return PromptParts("", f"{source}\n{question}" if source else question)

    def _source(self, example: Example, render: Render) -> str:
        """Return question and tables as upstream shows them; several tables have names."""
        parts = [example.inputs["question"]]
        for name, value in example.inputs.items():
            if name == "question":
                continue
            if name != "table":
                title = value.title if isinstance(value, Table) else None
                parts.append(f"{name.capitalize()}: {title}" if title else f"{name.capitalize()}:")
            parts.append(render(value) if isinstance(value, Table) else value)
        return "\n".join(parts)


DATASETS = tuple(map(TReB, known_subtasks()))


def datasets_in(data: Path) -> Iterator[TReB]:
    """Yield the datasets of subtasks in the data folder that `subtasks.toml` does not list.

    A file named after a listed subtask is skipped; other files are read for the subtasks in them.
    """
    yielded = {dataset.name for dataset in DATASETS}
    for path in sample_files(data / FOLDER):
        if subtask_in(path) is not None:
            continue
        try:
            names = dict.fromkeys(name for _, name, _ in samples_in(path) if name)
        except DataError:
            continue  # opening the file reports the error
        for name in names:
            if dataset_name(name) not in yielded:
                yielded.add(dataset_name(name))
                yield TReB(subtask_of(name))
