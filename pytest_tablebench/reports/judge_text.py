"""Lines on judging a run again: the plan of calls, and the agreement of two judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_tablebench.documents.formats import number
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.results.judges import Agreement, Flips
    from pytest_tablebench.running.asking import AskPlan

__all__ = ["agreement_lines", "flip_lines", "plan_line"]


def plan_line(plan: AskPlan) -> str:
    """Return the numbers of questions and of paid calls, with their price."""
    line = (
        f"{printable(plan.model, 100)}: {counted(plan.questions, 'question')}, {plan.hits:,} in "
        f"the answer store, {counted(plan.calls, 'call')} to pay"
    )
    if not plan.calls:
        return line
    if plan.prompt_tokens is not None:
        line += f": about {plan.prompt_tokens:,} tokens of prompts"
    if plan.completion_tokens is not None:
        line += f", at most {plan.completion_tokens:,} of replies"
    if plan.cost_usd is None:
        return f"{line}; price unknown"
    return f"{line}, at most ${plan.cost_usd:.2f}"


def agreement_lines(agreements: Mapping[str, Agreement]) -> list[str]:
    """Return the agreement of two judges, a line for each dataset."""
    return [
        f"{printable(name, 60)}: both judges marked {counted(agreement.answers, 'answer')}; "
        f"agreement kappa {number(agreement.kappa)} (of tens, weighted by the square of the "
        f"distance), rank correlation {number(agreement.rank)}"
        for name, agreement in agreements.items()
    ]


def flip_lines(flips: Flips | None) -> list[str]:
    """Return the marks and verdicts that another judge changed; none without another judge."""
    if flips is None or not flips.higher + flips.lower:
        return []
    lines = [
        f"the new judge marks {counted(flips.higher, 'answer')} higher and {flips.lower:,} lower; "
        f"verdicts: {flips.to_right:,} from wrong to right, {flips.to_wrong:,} from right to wrong"
    ]
    return lines + [
        f"  {printable(flip.case_id, 200)}: {flip.before:.2f} to {flip.after:.2f}"
        + (", another verdict" if flip.is_verdict else "")
        for flip in flips.largest
    ]
