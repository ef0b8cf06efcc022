"""The analyses of a benchmark, and the folder of a report: tables, figures, boards and an index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.markdown import escaped_text
from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.papers._published import open_groups
from pytest_tablebench.papers._realhit import serializer_means
from pytest_tablebench.papers._skills import skill_analysis
from pytest_tablebench.papers.analyses._agreement import benchmark_growth
from pytest_tablebench.papers.analyses.analyse import analyse, further_figures
from pytest_tablebench.papers.analyses.grid import read_scores
from pytest_tablebench.papers.boards import BOARDS, JUDGES, SINGLE, boards_of
from pytest_tablebench.papers.plots import WHOLE, write_plots
from pytest_tablebench.papers.runs import differences, run_remarks, runs_by_mode
from pytest_tablebench.papers.structure import Marks, mapped_tables
from pytest_tablebench.papers.table import PaperTable, Tree, table_blocks, write_table
from pytest_tablebench.papers.tables import paper_tables
from pytest_tablebench.results import SCHEMA
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import slug

_INDEX, _MANIFEST = "README.md", "report.json"
_KINDS = {".csv", ".md", ".png", ".svg"}
_DEFAULT = Path("tablebench-report")


def analysis_of(runs: Sequence[Run], benchmark: str) -> dict[str, Any]:
    """Return the analyses of a benchmark over runs, divided by mode.

    Raises `DataError` for records that cannot be compared.
    """
    parts = runs_by_mode(runs, benchmark)
    rows = [row for run in parts for row in run.rows]
    analysis = analyse(rows)
    return {
        **analysis,
        "ranked": _ranked(parts),
        "further": further_figures(rows, analysis, open_groups(parts)),
        "skills": skill_analysis(runs, benchmark),
        "tables": mapped_tables(runs, benchmark),
        "formats": serializer_means(runs, benchmark),
    }


def _ranked(parts: Sequence[Run]) -> str:
    """Return what a ranking of these runs orders, in words."""
    models = {run.facts.model for run in parts}
    if len(models) == len(parts):
        return "models"
    modes = {
        "strategies": {row.strategy for run in parts for row in run.rows},
        "modalities": {row.modality for run in parts for row in run.rows},
    }
    kinds = " and ".join(name for name, names in modes.items() if len(names) > 1) or "runs"
    return f"the {kinds} of one model" if len(models) == 1 else f"models and their {kinds}"


def with_undefined(analysis: Tree) -> Tree:
    """Return an analysis in which robustness over one configuration, which is always 1, is None."""
    tree = analysis["robustness"]

    def checked(entries: Mapping[str, Tree]) -> dict[str, Tree]:
        return {
            name: {**entry, "value": None, "complete_examples_only": None, "reason": SINGLE}
            if SINGLE in entry.get("flags", ()) and entry.get("value") is not None
            else entry
            for name, entry in entries.items()
        }

    parts = {model: checked(entries) for model, entries in tree["by_model_dataset"].items()}
    robustness = {**tree, "by_model_dataset": parts, "by_model": checked(tree["by_model"])}
    return {**analysis, "robustness": robustness}


# The report


@dataclass(frozen=True)
class BenchmarkReport:
    """The analyses of one benchmark: tables, and files of figures by name."""

    benchmark: str
    folder: str
    tables: tuple[PaperTable, ...]
    plots: Mapping[str, Sequence[Path]]


@dataclass(frozen=True)
class PaperReport:
    """A written report, with remarks on its runs and their differences."""

    folder: Path
    runs: tuple[Run, ...]
    parts: tuple[BenchmarkReport, ...]
    boards: tuple[PaperTable, ...]
    remarks: tuple[str, ...]
    differences: tuple[str, ...]
    analyses: Mapping[str, Mapping[str, Any]]
    """The results of `analysis_of`, by benchmark."""


def write_report(
    loaded: Sequence[Run],
    out: Path | None = None,
    *,
    plots: bool = True,
    marks: Marks | None = None,
) -> PaperReport:
    """Analyse the runs as one comparison and write the report's folder.

    The folder is `out`, else `report` in the folder of a single run, else `tablebench-report`. A
    former report in it is replaced. `marks` are a model's marks of the structure of tables. Raises
    `SettingsError` if the folder contains other files or cannot be written.
    """
    folder = out or (loaded[0].path / "report" if len(loaded) == 1 else _DEFAULT)
    with writing(f"--out: cannot write into {folder}", "; choose another folder"):
        former = _former_files(folder)
        # Compute before changing any file: bad records raise here.
        names = sorted({row.benchmark for run in loaded for row in run.rows})
        analyses = {name: analysis_of(loaded, name) for name in names}
        whole = {name: _with_whole_growth(loaded, name, analyses[name]) for name in names}
        boards = tuple(boards_of(loaded, marks))
        for path in former:
            path.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        # The manifest marks the folder as a report even if writing is interrupted.
        _write_manifest(folder, loaded, [])
        parts = tuple(
            _write_part(folder, name, analysis, plots=plots) for name, analysis in whole.items()
        )
        for board in boards:
            write_table(folder, board)
        remarks = tuple(remark for run in loaded for remark in run_remarks(run))
        report = PaperReport(
            folder, tuple(loaded), parts, boards, remarks, tuple(differences(loaded)), analyses
        )
        (folder / _INDEX).write_text("\n".join(_index(report)) + "\n", encoding="utf-8")
        _write_manifest(folder, loaded, _files(report))
    return report


def _with_whole_growth(
    runs: Sequence[Run], benchmark: str, analysis: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the analyses with the growth of W over all datasets of the benchmark."""
    if len(analysis["w_growth"]) < 2:
        return analysis
    rows = [row for run in runs_by_mode(runs, benchmark) for row in run.rows]
    growth = {**analysis["w_growth"], WHOLE: benchmark_growth(read_scores(rows).grids)}
    return {**analysis, "w_growth": growth}


def _write_part(
    folder: Path, benchmark: str, analysis: Mapping[str, Any], *, plots: bool
) -> BenchmarkReport:
    name = slug(benchmark)
    boards = {f"{board}.{kind}" for board in BOARDS for kind in ("csv", "md")}
    reserved = {_INDEX.casefold(), _MANIFEST, *boards}
    inside = folder / (f"{name}-benchmark" if name.casefold() in reserved else name)
    inside.mkdir(exist_ok=True)
    analysis = with_undefined(analysis)
    tables = tuple(paper_tables(analysis))
    for table in tables:
        write_table(inside, table)
    drawn = write_plots(analysis, inside) if plots else {}
    return BenchmarkReport(benchmark, inside.name, tables, drawn)


# What a former report left


def _files(report: PaperReport) -> list[str]:
    """Return every file of the report, relative to its folder."""
    files = [_INDEX, *_table_files(board.name for board in report.boards)]
    for part in report.parts:
        names = _table_files(table.name for table in part.tables)
        names += [path.name for paths in part.plots.values() for path in paths]
        files += [f"{part.folder}/{name}" for name in names]
    return files


def _table_files(names: Iterable[str]) -> list[str]:
    return [f"{name}.{kind}" for name in names for kind in ("csv", "md")]


def _write_manifest(folder: Path, runs: Sequence[Run], files: Sequence[str]) -> None:
    data = {
        "schema": SCHEMA,
        "runs": [{"model": run.model, "folder": str(run.path)} for run in runs],
        "files": list(files),
    }
    (folder / _MANIFEST).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _former_files(folder: Path) -> list[Path]:
    """Return the files of a former report. Raises `SettingsError` if there are others."""
    if not folder.exists() or not any(folder.iterdir()):
        return []
    try:
        names = parsed_json((folder / _MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        raise SettingsError(
            f"--out: {folder} contains other files; choose a new or empty folder"
        ) from None
    files = []
    for name in names if isinstance(names, list) else []:
        path, parts = folder / str(name), Path(str(name)).parts
        # Check each name, because the list may have been tampered with.
        inside = len(parts) <= 2 and ".." not in parts and not Path(str(name)).is_absolute()
        if inside and path.suffix in _KINDS and not path.parent.is_symlink() and path.is_file():
            files.append(path)
    return files


# The index


def _index(report: PaperReport) -> Iterator[str]:
    yield "# Report of tablebench\n"
    for run in report.runs:
        yield f"- {escaped_text(run.model)} ({escaped_text(str(run.path))})"
    if report.remarks or report.differences:
        yield "\n## Read this first\n"
        for remark in (*report.remarks, *report.differences):
            yield f"- {escaped_text(remark)}"
    for board in report.boards:
        yield f"\n[{board.title}]({board.name}.md)"
    for part in report.parts:
        yield f"\n## {escaped_text(part.benchmark)}\n"
        for table in part.tables:
            why = f": not computed, {escaped_text(table.reason)}" if table.reason else ""
            yield f"- [{escaped_text(table.title)}]({part.folder}/{table.name}.md){why}"
        for name, paths in part.plots.items():
            if paths:
                yield f"\n![{name}]({part.folder}/{name}.png)"
        yield from (f"\n{line}" for line in _not_drawn(part))


# The terminal

_ROWS = 40
"""The most rows of a table in the terminal; the files have all."""


def report_blocks(report: PaperReport) -> Iterator[doc.Block]:
    """Yield what the terminal shows below the tables of the runs."""
    for sentence in report.differences:
        yield doc.Paragraph(f"note: {sentence}")
    for part in report.parts:
        yield doc.Paragraph(f"analyses of {part.benchmark}")
        absent: dict[str, list[str]] = {}
        for table in part.tables:
            if table.reason is not None:
                absent.setdefault(table.reason, []).append(table.name)
            elif table.shown:
                yield from table_blocks(table, most=_ROWS, most_notes=6)
        sentences = [f"not computed: {', '.join(names)}: {why}" for why, names in absent.items()]
        yield from map(doc.Paragraph, (*_not_drawn(part), *sentences))
    for board in report.boards:
        yield from table_blocks(board, most=_ROWS, most_notes=10)
    if all(board.name == JUDGES for board in report.boards):
        yield doc.Paragraph("leaderboard: none, no run has a dataset of ToRR, TReB or RealHiTBench")
    yield doc.Paragraph(f"tables and figures: {report.folder}")


def _not_drawn(part: BenchmarkReport) -> Iterator[str]:
    """Yield the line on plots without data, if there are any."""
    names = [name for name, paths in part.plots.items() if not paths]
    if names:
        yield f"not drawn: {', '.join(names)}: no data; the tables give the reasons"
