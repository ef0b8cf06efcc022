"""`tablebench` without a command, its help and its shell completion."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import get_args

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.commands import interchange, tables
from pytest_tablebench.commands.parser import FIRST, GROUPS, make_parser
from pytest_tablebench.config.compat import Compat
from pytest_tablebench.reports.allure import MODES


def test_help_lists_every_command_once_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    parser = make_parser()
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(commands.choices)
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    starts = [line.strip().partition(" ")[0] for line in lines if line.startswith("  ")]
    assert [name for name in starts if name in commands.choices] == grouped
    assert [line for line in lines if line.removesuffix(":") in GROUPS] == [f"{g}:" for g in GROUPS]


def commands_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all commands, and of the commands below them."""
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not inner:
        yield parser
    for command in inner:
        for each in command.choices.values():
            yield from commands_of(each)


def test_every_command_has_its_function() -> None:
    for parser in commands_of(make_parser()):
        assert callable(resolve_name(f"pytest_tablebench.commands.{parser.get_default('does')}"))


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        ("export", "--to", interchange._FORMS),
        ("convert", "--to", tables._FORMATS),
        ("import", "--compat", get_args(Compat)),
        ("merge", "--allure", ("auto", *MODES)),
    ],
)
def test_choices_are_those_of_the_code(command: str, option: str, values: Collection[str]) -> None:
    [parser] = [p for p in commands_of(make_parser()) if p.prog == f"tablebench {command}"]
    [argument] = [a for a in parser._actions if option in a.option_strings]
    assert sorted(argument.choices or ()) == sorted(values)


def test_the_command_alone_shows_the_first_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert tuple(line.split()[0] for line in lines if line.startswith("  ")) == FIRST
    assert lines[-1] == "'tablebench --help' lists all commands."


def complete(script: str, words: str, folder: Path) -> set[str]:
    """Return bash's completions of the last word."""
    name = "_shtab_tablebench"
    ask = f"""
    COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
    {name} tablebench "${{COMP_WORDS[COMP_CWORD]}}"; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script + ask], cwd=folder, capture_output=True, text=True, check=False
    )
    return {word.strip() for word in done.stdout.splitlines() if word.strip()}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_options_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    (tmp_path / "prices.csv").touch()
    assert complete(script, "tablebench re", tmp_path) == {"report", "rejudge"}
    assert "--bench-data" in complete(script, "tablebench pull --b", tmp_path)
    assert complete(script, "tablebench tree pri", tmp_path) == {"prices.csv"}


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell", "tcsh"])
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "tablebench" in script
    assert "rejudge" in script
