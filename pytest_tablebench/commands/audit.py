"""`tablebench audit RUN...`: the gold answers that are most likely wrong."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import add_asking, cost_lines, open_client, plan_lines
from pytest_tablebench.commands._generating import count_from_1
from pytest_tablebench.commands.outputs import CommandAnswer, add_outputs
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import split_names

if TYPE_CHECKING:
    from pytest_tablebench.audit.ranking import Audit


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "audit",
        help="rank gold answers by how likely they are wrong",
        description="Rank the examples of runs by how likely their gold answer is wrong: models "
        "agree on another answer, a program or a rule computes another one, the gold does not "
        "occur in the table, or the same question has another gold elsewhere. Use runs of several "
        "models or strategies. No model is called, except by --ask with --yes.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="run folder. With `export` before the runs, write a report for the authors of each "
        "dataset",
    )
    parser.add_argument(
        "--bench-data", metavar="DIR", help="folder with the datasets' files. Default: the run's"
    )
    parser.add_argument(
        "--dataset", metavar="A,B", help="only the examples of these datasets. Default: all"
    )
    parser.add_argument(
        "--top",
        type=count_from_1,
        default=20,
        metavar="N",
        help="show the N most suspicious examples. Default: 20",
    )
    parser.add_argument(
        "--prior",
        type=_share,
        metavar="P",
        help="share of wrong gold answers before any evidence, between 0 and 1. Default: "
        "estimated, starting at 0.05",
    )
    add_outputs(parser, page="write a page on which people give verdicts")
    parser.add_argument(
        "--blind",
        action="store_true",
        help="hide evidence and models on the page until there is a verdict",
    )
    parser.add_argument(
        "--corrections",
        type=Path,
        metavar="FILE",
        help="CSV file with earlier verdicts, for --page and export",
    )
    parser.add_argument("--to", type=Path, metavar="DIR", help="folder for export")
    parser.add_argument(
        "--force", action="store_true", help="let export replace files that it did not write"
    )
    parser.add_argument(
        "--ask-top",
        type=count_from_1,
        default=50,
        metavar="N",
        help="ask about the N most suspicious examples. Default: 50",
    )
    does = (
        "let a model judge the most suspicious examples. It does not know which of the two answers "
        "is the gold, and is asked in both orders. Without --yes, only show the price"
    )
    add_asking(parser, does, flag="--ask", required=False)
    parser.set_defaults(answer=_audit)


def _share(text: str) -> float:
    """Parse a share between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value


def _audit(options: argparse.Namespace) -> CommandAnswer:
    reports: Path | None = options.to
    is_export = str(options.runs[0]) == "export" and not options.runs[0].is_dir()
    if is_export:
        options.runs = options.runs[1:]
        if reports is None:
            raise SettingsError("audit export needs --to DIR, the folder for the reports")
    elif reports is not None:
        raise SettingsError("--to is for `tablebench audit export RUN... --to DIR`")
    from pytest_tablebench.reports.audit import audit_json, audit_report
    from pytest_tablebench.reports.html.review import write_audit_page
    from pytest_tablebench.results.corrections import read_corrections

    corrections = None if options.corrections is None else read_corrections(options.corrections)
    audit, lines = audited(options)
    if reports is not None:
        from pytest_tablebench.audit.export import write_reports

        exported = write_reports(
            reports, audit.suspects, corrections, top=options.top, force=options.force
        )
        lines += [*(f"written: {path}" for path in exported.paths), *exported.notes]
    return CommandAnswer(
        audit_report(audit, options.top),
        audit_json(audit),
        lines=lines,
        write_page=partial(
            write_audit_page,
            suspects=audit.suspects,
            corrections=corrections,
            blind=options.blind,
        ),
    )


def audited(options: argparse.Namespace) -> tuple[Audit, list[str]]:
    """Audit the runs of the options, and ask the judge if they name one.

    Returns the audit, and lines on the judge's calls.
    """
    from pytest_tablebench.audit.ranking import audit_runs

    if not options.runs:
        raise SettingsError("name at least one run folder to audit")
    audit = audit_runs(
        options.runs,
        data=None if options.bench_data is None else Path(options.bench_data),
        datasets=None if options.dataset is None else split_names(options.dataset),
        prior=options.prior,
    )
    return (audit, []) if options.model is None else _asked(audit, options)


def _asked(audit: Audit, options: argparse.Namespace) -> tuple[Audit, list[str]]:
    """Show the price of the judge's calls; with `--yes` make them and rank again."""
    from pytest_tablebench.audit.asking import questions, with_verdicts
    from pytest_tablebench.reports.judges import preference_sentence

    chosen = list(questions(audit, top=options.ask_top))
    with open_client(options, []) as client:
        lines, calls = plan_lines(client, (question.converse() for question in chosen), "--ask")
        if calls and not options.yes:
            return audit, [*lines, "nothing was asked; add --yes to ask"]
        outcomes = client.converse(question.converse() for question in chosen)
        judged = with_verdicts(audit, chosen, outcomes, options.model)
        counts = preference_sentence(options.model, judged.counts)
        return judged.audit, [*lines, counts, *cost_lines(client.spent)]
