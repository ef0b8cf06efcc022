"""The `tablebench` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from pytest_tablebench.commands import (
    audit,
    compare,
    completion,
    complexity,
    convert,
    dataset_folder,
    doctor,
    export,
    generate,
    history,
    import_,
    judge_replies,
    labels,
    merge,
    migrate,
    models,
    rejudge,
    report,
    sandbox,
    show,
    stats,
    store,
    tree,
    watch,
)
from pytest_tablebench.commands.data_state import data_state
from pytest_tablebench.commands.grouped_help import GroupedParser
from pytest_tablebench.commands.outputs import print_lines, show_answer
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.util.names import printable, shortened
from pytest_tablebench.util.notices import Notices


def make_parser() -> GroupedParser:
    """Return the parser of the command line."""
    parser = GroupedParser(
        prog="tablebench",
        description="Language models on table benchmarks. `pytest --model NAME` starts a run.",
    )
    version = metadata.version("pytest-tablebench")
    parser.add_argument("--version", action="version", version=f"pytest-tablebench {version}")
    commands = parser.add_subparsers(
        metavar="COMMAND", parser_class=argparse.ArgumentParser, dest="command"
    )

    listing = commands.add_parser(
        "list",
        help="show datasets, serializers, perturbations and built-in models",
        description="Show the datasets with their licence and whether their data is present, and "
        "the names of serializers, perturbations and built-in models.",
    )
    listing.add_argument(
        "--bench-data", type=Path, metavar="DIR", help="folder with the datasets' files"
    )
    listing.set_defaults(run=lambda options: _list(options.bench_data))

    pulling = commands.add_parser(
        "pull",
        help="download the files of datasets",
        description="Download the files of datasets into the data folder. Repeat an interrupted "
        "command to continue the download.",
    )
    pulling.add_argument("names", nargs="+", metavar="NAME", help="dataset, as `list` shows it")
    pulling.add_argument(
        "--bench-data", type=Path, metavar="DIR", help="folder with the datasets' files"
    )
    pulling.set_defaults(run=lambda options: _pull(options.names, options.bench_data))

    for add_parser in (
        report.add_parser,
        compare.add_parser,
        merge.add_parser,
        migrate.add_parser,
        rejudge.add_parser,
        audit.add_parser,
        export.add_parser,
        import_.add_parser,
        dataset_folder.add_parsers,
        generate.add_parser,
        labels.add_parser,
        sandbox.add_parser,
        show.add_parser,
        stats.add_parser,
        judge_replies.add_parser,
        store.add_parser,
        tree.add_parser,
        complexity.add_parser,
        convert.add_parser,
        doctor.add_parser,
        models.add_parser,
        history.add_parser,
        watch.add_parser,
    ):
        add_parser(commands)
    completion.add_parser(commands, parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 after an error or Ctrl-C, in one line.

    `rejudge` and `merge` return the code of the gates: 0 all hold, 10 one fails, 11 one is
    undecided or the merged run is incomplete. `migrate` returns 0 for yes, 10 for no, 11 for
    undecided. `watch` returns 10 for a drift and 11 if the look cannot tell. `check` and
    `store verify` return 1 if they find a
    problem, `sandbox` if no sandbox works, and `doctor` if no run is possible.
    """
    # A terminal that cannot show a character gets an escape for it instead of a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parser = make_parser()
    words, rest = migrate.split_arguments(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(words, argparse.Namespace(rest=rest))
    code = 0
    notices = Notices(lambda text: print(f"tablebench: {text}", file=sys.stderr))
    try:
        if options.command is None:
            print(parser.format_first(), end="")
        elif "answer" in options:
            answer = options.answer(options)
            code = answer.code  # also if the reader of the report has ended
            show_answer(options, answer)
        elif "lines" in options:
            lines, code = options.lines(options)
            print_lines(lines)
        else:
            options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output, such as `head`, has ended. Discard the rest, or Python reports
        # the broken pipe again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("tablebench: interrupted; run the same command again", file=sys.stderr)
        return 2
    except TableBenchError as error:
        print(f"tablebench: {printable(str(error))}", file=sys.stderr)
        return 2
    finally:
        notices.close()
    return code


def _pull(names: Sequence[str], data: Path | None) -> None:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets.pull import known_sources, pull
    from pytest_tablebench.running.builtins import command_registry

    folder = Settings(data=data).data_folder()
    upstreams = known_sources(command_registry(folder).datasets.values())
    pull(names, folder, say=lambda line: print_lines([line]), upstreams=upstreams)


def _list(data: Path | None) -> None:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.running.builtins import command_registry

    folder = Settings(data=data).data_folder()
    registry = command_registry(folder)
    lines = [f"datasets (data folder {folder})"]
    names = max(map(len, registry.datasets))
    benchmarks = max(len(dataset.benchmark) for dataset in registry.datasets.values())
    for name, dataset in registry.datasets.items():
        state, why = data_state(dataset, folder)
        text = f"{state}; {why}" if why else state
        licence = shortened(dataset.licence_name.partition(" (")[0] or "-", 20)
        lines.append(f"  {name:<{names}} {dataset.benchmark:<{benchmarks}} {licence:<20} {text}")
    lines += ["serializers", f"  {' '.join(registry.serializers)}"]
    grid = registry.grid("starter").perturbations
    extra = [name for name in registry.perturbations if name not in grid]
    lines += ["perturbations", f"  {' '.join(grid)}", f"  outside the grid: {' '.join(extra)}"]
    models = "lexical", "ocr", "smollm2", "scripted:FILE"
    names_shown = " ".join(f"tablebench/{name}" for name in models)
    print_lines([*lines, "built-in models", f"  {names_shown} gguf:FILE"])
