"""`tablebench import PATH... --out RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import writing
from pytest_tablebench.util.names import printable

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser("import", help="another tool's results as a run folder")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="file, or folder")
    parser.add_argument(
        "--from",
        dest="form",
        choices=("every-eval-ever", "lm-eval"),
        default="every-eval-ever",
        help="what wrote them. Default: every-eval-ever",
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="RUN", help="new run folder"
    )
    parser.add_argument("--model", metavar="NAME", help="the model. Default: as the files name it")
    parser.set_defaults(lines=_import)


def _import(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.interchange._read_eee import read_every_eval_ever
    from pytest_tablebench.interchange._read_lm_eval import read_lm_eval
    from pytest_tablebench.interchange._take_in import take_in

    if given.form == "lm-eval":
        sources = read_lm_eval(given.paths, model=given.model)
    else:
        sources = read_every_eval_ever(given.paths)
    with writing(f"--out: cannot write into {given.out}", "; choose another folder"):
        taken = take_in(sources, given.out, model=given.model)
    return [*taken.lines(), f"run folder: {printable(str(given.out))}"], 0
