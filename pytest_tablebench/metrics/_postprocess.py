"""Post-processors: from a raw reply to the form that a metric compares (spec: torr.md section 7).

Each takes the result of the one before, a text or a list, for replies and references alike.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._markers import strip_answer_marker
from pytest_tablebench.metrics._tablebench_reply import (
    tablebench_final_answer,
    tablebench_marked_answer,
    tablebench_marked_or_printed,
    tablebench_printed_answer,
)
from pytest_tablebench.metrics._verdict import read_verdict
from pytest_tablebench.metrics.realhit_reply import (
    realhit_answer_or_nothing,
    realhit_answer_or_reply,
)
from pytest_tablebench.metrics.thinking import after_thinking
from pytest_tablebench.util.names import unknown_name

Postprocessor = Callable[[Any], Any]

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def take_first_non_empty_line(value: Any) -> str:
    """Return the first line with any text, stripped."""
    return str(value).strip().split("\n")[0].strip()


def lower_case(value: Any) -> str:
    """Return the text in lower case."""
    return str(value).lower()


def lower_case_till_punc(value: Any) -> str:
    """Return the lower-cased text before the first of `.,!?;`; not stripped afterwards."""
    return re.split(r"[.,!?;]", str(value).lower(), maxsplit=1)[0]


def to_string_stripped(value: Any) -> str:
    """Return the text without white space at its ends."""
    return str(value).strip()


def to_list_by_comma_space(value: Any) -> list[str]:
    """Split at comma and space; pieces are stripped."""
    return [piece.strip() for piece in str(value).split(", ")]


def to_list_by_comma(value: Any) -> list[str]:
    """Split at commas; pieces are stripped."""
    return [piece.strip() for piece in str(value).split(",")]


def str_to_float_format(value: Any) -> str:
    """Return numbers as Python writes the float; anything else, a list too, as its text."""
    try:
        return str(float(value))
    except (TypeError, ValueError):
        return str(value)


def remove_punctuations(value: Any) -> str:
    """Delete the 32 ASCII punctuation characters."""
    return str(value).translate(_PUNCTUATION)


def remove_articles(value: Any) -> str:
    """Replace each whole word a, an, the (lower case) by a space."""
    return re.sub(r"\b(a|an|the)\b", " ", str(value))


def fix_whitespace(value: Any) -> str:
    """Join the words with single spaces."""
    return " ".join(str(value).split())


POSTPROCESSORS: dict[str, Postprocessor] = {
    function.__name__: function
    for function in (
        take_first_non_empty_line,
        lower_case,
        lower_case_till_punc,
        to_string_stripped,
        to_list_by_comma_space,
        to_list_by_comma,
        str_to_float_format,
        remove_punctuations,
        remove_articles,
        fix_whitespace,
        read_verdict,
        after_thinking,
        strip_answer_marker,
        realhit_answer_or_nothing,
        realhit_answer_or_reply,
        tablebench_final_answer,
        tablebench_marked_answer,
        tablebench_marked_or_printed,
        tablebench_printed_answer,
    )
}


def plain_text(text: str) -> str:
    """Return a text without case, marks and articles, as benchmarks compare answers."""
    names = ("lower_case", "remove_punctuations", "remove_articles", "fix_whitespace")
    return str(run_chain(names, text))


def postprocess(name: str, value: Any) -> Any:
    """Apply one named post-processor to a text (or to what an earlier one returned).

    Raises `SettingsError` for an unknown name.
    """
    return run_chain([name], value)


def run_chain(
    names: Iterable[str], value: Any, registered: Mapping[str, Postprocessor] = POSTPROCESSORS
) -> Any:
    """Apply post-processors one after the other; raises `SettingsError` for an unknown name."""
    for name in names:
        if name not in registered:
            raise SettingsError(unknown_name("post-processor", name, registered))
        value = registered[name](value)
    return value
