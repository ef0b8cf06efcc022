"""A watch as lines for a terminal, and as Markdown for an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.documents.formats import interval, signed
from pytest_tablebench.reports.github import code
from pytest_tablebench.util.names import counted, out_of, printable

if TYPE_CHECKING:
    from pytest_tablebench.claims.drift import WatchVerdict
    from pytest_tablebench.claims.estimate import Estimate

__all__ = [
    "delay_line",
    "ours_line",
    "result_lines",
    "theirs_line",
    "watch_lines",
    "watch_markdown",
]

TITLES = {
    "no drift": "no drift",
    "drift": "the model has drifted",
    "not decided": "the last look is unusual, which one look alone does not decide",
    "cannot tell": "this look cannot tell",
}


def watch_lines(verdict: WatchVerdict) -> list[str]:
    """Return the lines of a terminal."""
    reference = verdict.reference
    model = printable(reference.model, 60)
    lines = [
        f"{model}: {TITLES[verdict.state]} ({counted(len(verdict.looks), 'look')}; reference of "
        f"{printable(reference.time[:10], 10)} with {counted(len(reference.cases), 'case')} in "
        f"{counted(verdict.clusters, 'cluster')}, "
        f"{counted(len(reference.scores[0]), 'repeat')})"
    ]
    parts = [*result_lines(verdict), theirs_line(verdict), ours_line(verdict), delay_line(verdict)]
    return [*lines, *(f"  {printable(part, 600)}" for part in parts)]


def result_lines(verdict: WatchVerdict) -> list[str]:
    """Return what the looks show about the score and the answers."""
    if not verdict.looks:
        return [f"score of the reference: {verdict.reference_score:.3f}"]
    last, standing, lines = verdict.looks[-1], verdict.standing, []
    if last.uncounted:
        lines.append(f"the last look does not count: {last.uncounted}")
    if standing is not None:
        lines.append(
            f"score: {_change(standing.drop)} over all looks; the last counted one "
            f"{0 - standing.recent:+.3f}"
        )
        if standing.drift is not None:
            since = verdict.counted[standing.since or 0]
            lines.append(
                f"{standing.direction} since look {since.number} of "
                f"{since.entry.time[:10]}: {_change(standing.drift)}"
            )
    if not last.uncounted:
        cases = len(verdict.reference.cases)
        lines.append(
            f"answers: {out_of(last.new_answers, cases, 'answer')} of this look not in the "
            f"reference; {verdict.noise_share:.1%} of the reference's answers were given by one "
            f"repeat only. With {counted(verdict.clusters, 'cluster')} only a share above "
            f"{verdict.limit:.0%} would in the long run prove a change"
        )
    return lines


def _change(drop: Estimate) -> str:
    """Return a drop as a change, with its interval."""
    change = drop.negated
    return f"{signed(change.value)} (95 % at every look: {interval(change.interval, sign=True)})"


def theirs_line(verdict: WatchVerdict) -> str:
    """Return what changed at the provider."""
    return f"they changed: {'; '.join(verdict.they_changed) or 'nothing seen'}"


def ours_line(verdict: WatchVerdict) -> str:
    """Return what the project changed since the reference."""
    if not verdict.we_changed:
        return "we changed: nothing since the reference"
    hint = "" if not verdict.looks[-1].uncounted else "; make a new one with --new-reference"
    return f"we changed: {', '.join(verdict.we_changed)}{hint}"


def delay_line(verdict: WatchVerdict) -> str:
    """Return after how many looks drops would be found."""
    parts = [
        f"{drop:.2f} never (raise --canary or --repeats)"
        if looks is None
        else f"{drop:.2f} after about {counted(looks, 'look')}"
        for drop, looks in verdict.delays
    ]
    return f"a drop that begins now would be found: {', '.join(parts)}"


def watch_markdown(verdict: WatchVerdict) -> str:
    """Return the text of an issue; texts of other origin are escaped."""
    lines = [
        f"**{code(verdict.reference.model)}: {TITLES[verdict.state]}**",
        "",
        *(f"- {code(line, 600)}" for line in result_lines(verdict)),
        f"- {code(theirs_line(verdict), 600)}",
        f"- {code(ours_line(verdict), 600)}",
        f"- {code(delay_line(verdict), 600)}",
        "",
        "| look | day | score | change | new answers | no answer | |",
        "|---|---|---|---|---|---|---|",
    ]
    for look in verdict.looks[-14:]:
        score = "-" if look.score is None else f"{look.score:.3f}"
        change = "-" if look.standing is None else f"{0 - look.standing.recent:+.3f}"
        note = code(look.uncounted, 100) if look.uncounted else ""
        lines.append(
            f"| {look.number} | {code(look.entry.time[:10])} | {score} | {change} | "
            f"{look.new_answers} | {look.missing} | {note} |"
        )
    return "\n".join(lines) + "\n"
