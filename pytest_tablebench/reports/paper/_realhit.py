"""One's runs beside the published rows of RealHiTBench (spec: realhitbench.md section 9)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from pytest_tablebench.reports.paper._published import (
    Noted,
    beside_published,
    published,
    shares,
)
from pytest_tablebench.reports.paper._runs import Row, RunData
from pytest_tablebench.reports.paper._text import PaperTable, Printed, Value
from pytest_tablebench.results._tasks import mean_parts, plain_mean
from pytest_tablebench.results._texts import TEXTS, ExampleText, read_texts
from pytest_tablebench.util.names import counted, printable

BENCHMARK = "realhitbench"
TASKS = {
    "fc": ("em", "f1"),
    "nr": ("em", "f1"),
    "sc": ("em", "f1"),
    "da": ("gpt_eval", "rouge_l"),
    "cg": ("pass@1", "ecr"),
}
"""The two figures of each task, in the order of the paper's Table 2."""

_COLUMNS = tuple((f"realhit_{task}", part) for task, parts in TASKS.items() for part in parts)
_NAMES = tuple(f"{task.upper()} {part}" for task, parts in TASKS.items() for part in parts)
_BUCKETS = ("<10K", "10-20K", ">20K")
_QUESTIONS = 3071
_PUBLISHED_JUDGE = "gpt-4o"
_CITATION = (
    'published: "RealHiTBench: A Comprehensive Realistic Hierarchical Table Benchmark for '
    'Evaluating LLM-Based Table Analysis", arXiv 2506.13405'
)
_CAVEATS = (
    "published rows were measured by other code, which compares the answers about rearranged "
    "tables with the model's own (--bench-structure=self), and judged by GPT-4o",
    "the printed header of the paper's Table 5 has its columns swapped; they stand here by name",
)


def realhit_leaderboard(runs: Sequence[RunData]) -> PaperTable | None:
    """Return one's runs, a row for each strategy and modality, then Tables 2, 5 and 7.

    None without any of the five tasks.
    """
    rows: list[Noted] = [
        (
            (run.model, "this run", modality, strategy, *mean_parts(own, _COLUMNS)),
            "; ".join(_notes(run, own)),
        )
        for run, strategy, modality, own in _parts_of(runs)
    ]
    return beside_published(
        "realhit_leaderboard",
        "RealHiTBench leaderboard (layout of the paper's Table 2)",
        ("model", "source", "input", "strategy", *_NAMES),
        own=rows,
        others=(
            (*_whose(line), *shares(list(line.values())[4:])) for line in published("realhitbench")
        ),
        notes=(_CITATION, *_CAVEATS),
    )


def realhit_means(runs: Sequence[RunData]) -> PaperTable | None:
    """Return means by task and by tokens of the table, then Tables 3, 4 and 6 as printed.

    One's mean of a task is that of its two figures, and of anything else that of its tasks' means.
    """
    names = (*TASKS, "all", *_BUCKETS)
    rows: list[Noted] = []
    for run, strategy, modality, own in _parts_of(runs):
        by_task = [_mean(own, task) for task in TASKS]
        buckets = [
            plain_mean(
                _mean([row for row in own if row.tags.get("tokens") == bucket], task)
                for task in TASKS
            )
            for bucket in _BUCKETS
        ]
        figures = (*by_task, plain_mean(by_task), *buckets)
        rows.append(((run.model, "this run", modality, strategy, *figures), ""))
    others: dict[tuple[str, ...], dict[str, float]] = {}
    for line in published("realhitbench_means"):
        [share] = shares([line["value"]])
        others.setdefault(_whose(line), {})[line["name"]] = share
    return beside_published(
        "realhit_means",
        "RealHiTBench means by task, and by tokens of the table",
        ("model", "source", "input", "strategy", *names),
        own=rows,
        others=((*key, *(found.get(name) for name in names)) for key, found in others.items()),
        notes=(
            _CITATION,
            "Table 4's means are not those of the columns of Table 2, Table 6 is over 500 "
            "questions, and the paper does not say what counted the tokens of Table 3",
        ),
    )


def realhit_tables(runs: Sequence[RunData]) -> PaperTable | None:
    """Return how large the tables are that runs asked about, then Table 8 as printed.

    Of each table one's run kept, unperturbed: its rows below the header, its columns, and the mean
    characters of its cells that are not empty; of all tables the 70th percentile.
    """
    sizes = ((run.model, _sizes(run)) for run in runs)
    others: list[tuple[Value, ...]] = []
    for benchmark, rows, columns, *marks in map(dict.values, published("realhitbench_tables")):
        figures = int(rows), int(columns), *map(Printed, marks)
        others.append((benchmark, "published, Table 8", *figures))
    return beside_published(
        "realhit_tables",
        "Sizes and structure of tables (layout of the paper's Table 8)",
        ("tables of", "source", "rows", "columns", "cell length", "header hierarchy",
         "content partition", "implicit multi table", "supplement information"),
        own=[((model, "tables of this run", *own, *[None] * 4), "") for model, own in sizes if own],
        others=others,
        notes=(
            _CITATION,
            "sizes are 70th percentiles; the paper does not say what it takes for a row or for a "
            "cell's length, and had a model mark the structure: `tablebench tree TABLE` prints "
            "what is counted of it here, by rule",
        ),
    )  # fmt: skip


def _whose(line: Mapping[str, str]) -> tuple[str, ...]:
    return line["model"], f"published, Table {line['table']}", line["input"], line["strategy"]


def _sizes(run: RunData) -> tuple[int, int, Printed] | None:
    asked = {row.dataset for row in run.rows if row.benchmark == BENCHMARK}
    if not asked:
        return None
    found = dict[str, tuple[int, int, float]]()
    for text in read_texts(run.path / TEXTS):
        if isinstance(text, ExampleText) and text.id.partition("/")[0] in asked:
            for table in text.tables if text.id.endswith("/none") else ():
                cells = [str(cell) for line in table["rows"] for cell in line if cell is not None]
                filled = list(filter(None, cells))
                length = sum(map(len, filled)) / max(1, len(filled))
                size = len(table["rows"]), len(table["header"]), length
                found[json.dumps([table["header"], table["rows"]])] = size
    if not found:
        return None
    place = max(0, -(-7 * len(found) // 10) - 1)
    rows, columns, lengths = (sorted(one)[place] for one in zip(*found.values(), strict=True))
    return int(rows), int(columns), Printed(lengths)


def _parts_of(runs: Sequence[RunData]) -> Iterator[tuple[RunData, str, str, list[Row]]]:
    """Yield the rows of each run by strategy and modality."""
    for run in runs:
        own = [row for row in run.rows if row.benchmark == BENCHMARK]
        for strategy, modality in dict.fromkeys((row.strategy, row.modality) for row in own):
            kept = [row for row in own if (row.strategy, row.modality) == (strategy, modality)]
            yield run, strategy, modality, kept


def _mean(rows: Sequence[Row], task: str) -> float | None:
    return plain_mean(mean_parts(rows, [(f"realhit_{task}", part) for part in TASKS[task]]))


def _notes(run: RunData, rows: Sequence[Row]) -> list[str]:
    """Return how a run differs from the paper's, one clause each."""
    notes = []
    asked = len({(row.dataset, row.example_id) for row in rows})
    if asked != _QUESTIONS:
        notes.append(f"{counted(asked, 'question')} of {_QUESTIONS:,}")
    judge = run.run.get("judge")
    if judge is None:
        notes.append("no judge")
    elif str(judge).rpartition("/")[2] != _PUBLISHED_JUDGE:
        notes.append(f"judged by {printable(str(judge), 60)}")
    if run.run.get("structure") != "self":
        notes.append(f"structure {printable(str(run.run.get('structure')), 20)}, paper self")
    if run.run.get("compat") != "reference":
        notes.append("mode fixed, several metrics differ from the paper's")
    formats = sorted({row.serializer for row in rows})
    if formats != ["latex"] and "text" in {row.modality for row in rows}:
        notes.append(f"serializers {printable(', '.join(formats), 80)}, paper latex")
    arranged = {row.perturbation for row in rows} - {"none"}
    if arranged:
        notes.append("perturbed tables too")
    return notes
