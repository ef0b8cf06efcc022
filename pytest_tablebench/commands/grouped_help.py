"""The help of `tablebench`: commands grouped by task, and the five that a new user needs first."""

from __future__ import annotations

import argparse

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
        """The help of each command, by name."""
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
