"""RealHiTBench's prompts by kind of question, from `prompts.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from pytest_tablebench.config.compat import Compat

_TEXTS: dict[str, Any] = tomllib.loads(
    (files(__package__) / "prompts.toml").read_text(encoding="utf-8")
)

MARKER = "[Final Answer]:"
CANNED: str = _TEXTS["canned"]


@dataclass(frozen=True)
class Form:
    """The form of the answer to a kind of question, as the prompt describes it.

    Arguments:
        task: the task, which completes "you have to".
        rules: the rules for the answer.
        line: the required end of a reply.
        is_published: whether the published code has the line; for other forms it asks for a list.
    """

    task: str
    rules: tuple[str, ...]
    line: str = _TEXTS["list"]
    is_published: bool = False


FORMS = {
    kind: Form(**{**form, "rules": tuple(form["rules"])}) for kind, form in _TEXTS["forms"].items()
}


def form_of(kind: str, subtype: str) -> Form:
    """Return the form for a question's kind, or for its sub-type if the kind has none.

    An unknown sub-type has the form of fact checking.
    """
    return FORMS[form_name(kind, subtype)]


def form_name(kind: str, subtype: str) -> str:
    """Return the name of a question's form, a key of `FORMS`."""
    return next((name for name in (kind, subtype) if name in FORMS), "Fact Checking")


def tree_form(form: Form, compat: Compat) -> Form:
    """Return the form that TreeThinker asks for in its last question (spec section 6).

    The published prompts omit the rule of two decimals there. For charts they also omit the rules
    about the file, the order and the last line. `fixed` keeps all of them, because metrics round to
    two decimals and programs need the file.
    """
    dropped = _TEXTS["not_in_tree"] if compat == "reference" else ()
    rules = [rule for rule in form.rules if rule not in dropped]
    replaced = (_TEXTS["tree_rules"].get(rule, rule) for rule in rules)
    return replace(form, rules=(*replaced, _TEXTS["last_tree_rule"]))


def instruction(form: Form, *, marked: bool = True) -> str:
    """Return the part of a prompt before the table.

    Without `marked`, it does not say where in the reply the answer goes.
    """
    rules = "\n".join(f"- {rule}" for rule in form.rules)
    if marked:
        rules += f"\n- The end of your reply is: {form.line}"
    text: str = _TEXTS["instruction"].format(task=form.task, rules=rules)
    return text


def reminder(form: Form, compat: Compat) -> str:
    """Return the part of a prompt after the question.

    If the published code has no line for the form, `reference` asks for a list. For summaries and
    anomalies this contradicts the instruction.
    """
    has_line = compat == "fixed" or form.is_published
    return f"End your reply with: {form.line if has_line else _TEXTS['list']}"
