"""The parser of `tablebench`: its commands from `commands.toml`, and a help grouped by task."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module, metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_tablebench.commands.outputs import CommandAnswer


FIRST = ("new", "check", "list", "report", "show")
"""The commands that `tablebench` alone lists."""

GROUPS = {
    "your own tables": (
        "new",
        "check",
        "generate",
        "tree",
        "complexity",
        "convert",
        "judge-replies",
    ),
    "data": ("list", "pull", "stats"),
    "models": ("models", "migrate", "watch", "history"),
    "finished runs": (
        *("report", "show", "compare", "rejudge", "audit", "labels", "merge", "export", "import"),
    ),
    "this machine": ("doctor", "sandbox", "store", "completion"),
}
"""All commands, by task."""


class GroupedParser(argparse.ArgumentParser):
    """A parser whose help lists its commands by task."""

    @property
    def _helps(self) -> dict[str, str]:
        [commands] = [a for a in self._actions if isinstance(a, argparse._SubParsersAction)]
        return {choice.dest: choice.help or "" for choice in commands._choices_actions}

    def _format(self, formatter: argparse.HelpFormatter, title: str, *names: str) -> None:
        helps = self._helps
        formatter.start_section(title)
        formatter.add_arguments(
            [argparse.Action([], name, metavar=name, help=helps[name]) for name in names]
        )
        formatter.end_section()

    def format_help(self) -> str:
        """Return usage, all commands by task, and options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, names in GROUPS.items():
            self._format(formatter, title, *names)
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text("'tablebench COMMAND --help' describes a command.")
        return formatter.format_help()

    def format_first(self) -> str:
        """Return the few commands that a new user needs."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        self._format(formatter, "first steps", *FIRST)
        formatter.add_text(f"'{self.prog} --help' lists all commands.")
        return formatter.format_help()


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
    text = resources.files(__package__).joinpath("commands.toml").read_text(encoding="utf-8")
    described = tomllib.loads(text)
    groups, shared = described.pop("groups"), described.pop("shared")
    for name, command in described.items():
        _add_command(commands, name, command, groups, shared)
    return parser


def _add_command(
    commands: Any,
    name: str,
    command: Mapping[str, Any],
    groups: Mapping[str, Any],
    shared: Mapping[str, Any],
) -> None:
    parser = commands.add_parser(name, help=command["help"], description=command["description"])
    for flags, fields in _arguments(command.get("arguments", {}), groups, shared).items():
        if isinstance(fields, str):
            parser.add_argument(*flags.split(), action="store_true", help=fields)
        else:
            kind = {"type": _TYPES[fields["type"]]} if "type" in fields else {}
            parser.add_argument(*flags.split(), **fields | kind)
    parser.set_defaults(does=command.get("does"), **command.get("defaults", {}))
    if "ways" in command:
        ways = parser.add_subparsers(required=True, metavar=command["metavar"])
        for inner_name, inner in command["ways"].items():
            _add_command(ways, inner_name, inner, groups, shared)


def _arguments(
    arguments: Mapping[str, Any], groups: Mapping[str, Any], shared: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a command by their flags; a later one replaces one of a group."""
    named: dict[str, Any] = {}
    for flags, fields in arguments.items():
        names = groups[flags[1:]] if flags.startswith("@") else [flags]
        named |= {name: fields or shared[name] for name in names}
    return named


def split_arguments(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of the command, and the arguments after `--` of `migrate` for pytest."""
    if words[:1] != ["migrate"] or "--" not in words:
        return list(words), []
    end = words.index("--")
    return list(words[:end]), list(words[end + 1 :])


def answer_of(options: argparse.Namespace) -> CommandAnswer | tuple[list[str], int]:
    """Call the function of a command: it returns an answer, or lines and an exit code."""
    module, _, function = options.does.rpartition(".")
    answer: CommandAnswer | tuple[list[str], int]
    answer = getattr(import_module(f"{__package__}.{module}"), function)(options)
    return answer


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text:.40}")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value


_TYPES = {"path": Path, "int": int, "float": float, "count": _count, "share": _share}


def print_completion(options: argparse.Namespace) -> tuple[list[str], int]:
    """Print the completion script of a shell as it is."""
    import shtab

    parser = make_parser()
    _complete_paths(parser)
    print(shtab.complete(parser, shell=options.shell))
    return [], 0


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Let the arguments of a parser and of its commands complete to files if they are paths."""
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_paths(command)
        elif action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
