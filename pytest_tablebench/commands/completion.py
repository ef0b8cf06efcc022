"""`tablebench completion SHELL`: a script that completes commands, options and files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any, program: argparse.ArgumentParser) -> None:
    """Add the command to `program`, the parser to complete, whose commands are `commands`."""
    parser = commands.add_parser(
        "completion",
        help="print a completion script for your shell",
        description="Print a script that completes commands, options and files in your shell.",
    )
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish", "powershell", "tcsh"), help="your shell"
    )
    parser.set_defaults(run=lambda options: print(_script(program, options.shell)))


def _script(program: argparse.ArgumentParser, shell: str) -> str:
    import shtab

    _complete_paths(program)
    return str(shtab.complete(program, shell=shell))


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Let the arguments of a parser and of its commands complete to files if they are paths."""
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_paths(command)
        elif action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
