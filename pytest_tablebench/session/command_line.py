"""Which tests pytest was told to collect, and what leaves out a part of their cases."""

from __future__ import annotations

import pytest

__all__ = ["named_by", "selected_by"]

_OPTIONS = {
    "keyword": "-k",
    "lf": "--lf",
    "deselect": "--deselect",
    "stepwise": "--stepwise",
}


def selected_by(config: pytest.Config) -> list[str]:
    """Return the options that select single cases, as they are written; none without any.

    Marks are not among them: they select whole datasets, which a table names.
    """
    options = [text for name, text in _OPTIONS.items() if config.getoption(name, None)]
    named = any("::" in argument for argument in config.option.file_or_dir or ())
    return [*options, *(["test ids"] if named else [])]


def named_by(config: pytest.Config) -> list[str]:
    """Return the words that name suites on the command line; none where a configuration does."""
    named = dict.fromkeys(word.partition("::")[0] for word in config.option.file_or_dir or ())
    return ["--pyargs", *named] if named and config.option.pyargs else list(named)
