"""A program that was executed on the table printed another answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pytest_tablebench.audit.ballots import AuditedExample
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.util.names import counted

_WEIGHT = 1.0
"""The answers are votes already. This is for the computation, which an error in reading cannot
explain."""

_FOR_GOLD = -1.0


def programs(example: AuditedExample, groups: Sequence[AnswerGroup]) -> Iterator[Evidence]:
    """Yield the output that most voters' programs print, if another voter answers the same."""
    printed = defaultdict[str, list[str]](list)
    for voter, counts in sorted(example.programs.items()):
        printed[max(sorted(counts), key=lambda form: counts[form])].append(voter)
    if not printed:
        return
    form = max(sorted(printed), key=lambda form: len(printed[form]))
    voters = printed[form]
    if form == example.gold_form:
        text = f"a program of {' and of '.join(voters[:3])} prints the gold"
        yield Evidence("program", text, example.gold_text, _FOR_GOLD)
        return
    answer = example.texts.get(form, form.removeprefix("#"))
    others = {
        voter for group in groups if group.answer == answer for voter in group.voters
    }.difference(voters)
    if len(voters) + len(others) < 2:
        return
    text = f"a program of {' and of '.join(voters[:3])} prints {answer}"
    if others:
        text += f", and {counted(len(others), 'other voter')} " + (
            "answers" if len(others) == 1 else "answer"
        )
        text += " the same"
    yield Evidence("program", text, answer, _WEIGHT)
