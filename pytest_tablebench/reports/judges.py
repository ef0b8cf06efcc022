"""Judges: the plan of their calls, the answers that they prefer, and the agreement of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import number
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.results.judges import Agreement, Flips
    from pytest_tablebench.running.pricing import AskPlan

__all__ = ["agreement_blocks", "plan_sentence", "preference_sentence"]


def plan_sentence(plan: AskPlan) -> str:
    """Return the numbers of questions and of paid calls, with their price."""
    line = (
        f"{plan.model}: {counted(plan.questions, 'question')}, {plan.hits:,} in the answer store, "
        f"{counted(plan.calls, 'call')} to pay"
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


def agreement_blocks(
    agreements: Mapping[str, Agreement], flips: Flips | None
) -> Iterator[doc.Block]:
    """Yield the agreement of two judges, and the marks and verdicts that the new one changed."""
    for name, agreement in agreements.items():
        yield doc.Paragraph(
            f"{name}: both judges marked {counted(agreement.answers, 'answer')}; agreement kappa "
            f"{number(agreement.kappa)} (of tens, weighted by the square of the distance), rank "
            f"correlation {number(agreement.rank)}"
        )
    if flips is None or not flips.higher + flips.lower:
        return
    yield doc.Paragraph(
        f"the new judge marks {counted(flips.higher, 'answer')} higher and {flips.lower:,} lower; "
        f"verdicts: {flips.to_right:,} from wrong to right, {flips.to_wrong:,} from right to wrong"
    )
    yield doc.Listing(
        [
            f"{flip.case_id}: {flip.before:.2f} to {flip.after:.2f}"
            + (", another verdict" if flip.is_verdict else "")
            for flip in flips.largest
        ]
    )


def preference_sentence(judge: str, counts: Mapping[str, int]) -> str:
    """Return how often a judge preferred the gold, the other answer, or contradicted itself."""
    names = {"first": "the gold", "second": "the other answer"}
    shown = ", ".join(f"{names.get(name, name)} {count}" for name, count in sorted(counts.items()))
    return f"{judge}: {shown or 'no example has another answer to ask about'}"
