"""The plan of a run as lines: one for the header of every run, a table for `--bench-plan`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import SAME_QUESTION
from pytest_tablebench.config.parameters import WINDOW
from pytest_tablebench.documents.formats import aligned, duration
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.retirement import retirement_line
from pytest_tablebench.reports.same_question import setting_plan
from pytest_tablebench.util.names import are, counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import PlannedGate
    from pytest_tablebench.config.settings import Settings

__all__ = ["plan_lines"]


def plan_lines(
    plans: Iterable[Mapping[str, Any]],
    settings: Settings,
    gates: Mapping[str, Sequence[PlannedGate]] | None = None,
    *,
    today: date | None = None,
) -> list[str]:
    """Return the planned calls to each model and their highest price.

    `gates` has, by model, the effects that its gates can detect with the planned cases. `today` is
    by default the current day; models that retire soon have a line.
    """
    lines = []
    for plan in plans:
        name = printable(plan["model"], 60)
        name = f"judge {name}" if plan.get("judges") else name
        lines += _table(name, plan, settings) if settings.plan else [_line(name, plan)]
        if retires := retirement_line(name, plan.get("deprecation_date"), today):
            lines.append(f"tablebench: {retires}")
        if plan.get("further"):
            strategies = ", ".join(printable(strategy, 40) for strategy in plan["further"])
            lines.append(
                f"tablebench: {name}: these figures leave out further steps of {strategies}, "
                f"which depend on answers that do not exist yet"
            )
        if plan.get("pictures"):
            lines.append(
                f"tablebench: {name}: these figures leave out "
                f"{counted(plan['pictures'], 'picture')}, because their tokens are unknown"
            )
        if plan.get("supposed"):
            lines.append(
                f"tablebench: {name}: {counted(plan['supposed'], 'answer')} "
                f"{are(plan['supposed'])} not stored yet; the questions about them assume the "
                f"expected answer"
            )
        if plan.get("at_most"):
            lines.append(
                f"tablebench: {name}: at most {counted(plan['at_most'], 'question')} of these, "
                f"because it decides only replies that are unclear by the rules"
            )
        if plan.get("unknown"):
            lines.append(
                f"tablebench: {name}: whether {counted(plan['unknown'], 'answer')} will need a "
                f"call depends on programs that have not run yet"
            )
        if plan.get("room"):
            lines.append(
                f"tablebench: {name}: it thinks, so its limit is {plan['room']:,} tokens above "
                f"the answer's limit (--bench-reasoning-tokens){_sent_limit(plan['sent'] or {})}"
            )
        if settings.compares_snapshots and plan["hits"]:
            lines.append(
                f"tablebench: {name}: {plan['hits']:,} of {counted(plan['requests'], 'answer')} "
                f"{are(plan['hits'])} in the store. Snapshots of these cannot show that the model "
                f"has changed; --bench-fresh asks again"
            )
        for parameter, why in (plan["dropped"] or {}).items():
            lines.append(
                f"tablebench: {name}: {printable(parameter)} is not sent: {printable(why)}"
            )
        if plan["calls"] and (window := (plan["sent"] or {}).get(WINDOW)) is not None:
            lines.append(
                f"tablebench: {name}: {WINDOW}={printable(str(window))} is sent, so that Ollama "
                f"reads the whole prompt; --bench-context=N sends another length"
            )
        if plan.get("context_unknown"):
            lines.append(
                f"tablebench: {name}: prompts are not cut, because the model's context is unknown; "
                f"name its tokens with --bench-context=N"
            )
        if plan["too_long"]:
            look = "looks" if plan["too_long"] == 1 else "look"
            prompts = counted(plan["too_long"], "prompt")
            lines.append(f"tablebench: {name}: {prompts} {look} longer than the model reads")
    if settings.plan and not lines:
        lines.append("tablebench: no server is called, so there is nothing to pay")
    lines += _gates(gates or {})
    if settings.plan:
        lines.append("tablebench: this was the plan only; no call was made")
    return lines


def _sent_limit(sent: Mapping[str, Any]) -> str:
    """Return the parameters that limit a reply, as they are sent."""
    limits = [f"{key}={value}" for key, value in sent.items() if "tokens" in key.lower()]
    return f": {', '.join(limits)}" if limits else ""


def _line(name: str, plan: Mapping[str, Any]) -> str:
    about = "" if plan["exact"] else "about "
    cases_without_call = plan["cases"] - plan["calls"]
    line = f"tablebench: {name}: {about}{counted(plan['calls'], 'call')} ahead"
    if cases_without_call:
        cases = counted(plan["cases"], "case")
        line += f" for {cases}, the other cases are in the store or share a call"
    if not plan["calls"]:
        return line
    prompt, completion = plan["prompt_tokens"], plan["completion_tokens"]
    if prompt is not None:
        line += f"; about {_count(prompt)} prompt tokens"
    if completion is not None:
        line += f", at most {_count(completion)} completion tokens"
    return line + f"; {_price(plan)}"


def _price(plan: Mapping[str, Any]) -> str:
    if not plan["calls"]:
        return "nothing to pay"
    if plan.get("priced_by_reply"):
        return "the price comes with each reply"
    return "price unknown" if plan["cost_usd"] is None else f"at most {plan['cost_usd']:.2f} USD"


def _count(number: int) -> str:
    if number < 10_000:
        return f"{number:,}"
    if number < 1_000_000:
        return f"{number / 1_000:.0f} k"
    return f"{number / 1_000_000:.1f} M"


def _table(name: str, plan: Mapping[str, Any], settings: Settings) -> list[str]:
    basis_of = f"by {plan['tokenizer']}" if plan["tokenizer"] else "at 4 characters each"
    prompt, completion = plan["prompt_tokens"], plan["completion_tokens"]
    rows = [
        ("cases", f"{plan['cases']:,}"),
        ("distinct requests", f"{plan['requests']:,}"),
        ("in the store", f"{plan['hits']:,}"),
        ("calls", f"{plan['calls']:,}"),
    ]
    if plan.get("thinking_replies"):
        rows.append(("of thinking", _thinking(plan)))
    if plan["unusable"]:
        rows.append(("without a prompt", f"{plan['unusable']:,} (their tables cannot be shown)"))
    if plan["calls"]:
        rows += [
            ("prompt tokens", "unknown" if prompt is None else f"about {prompt:,} ({basis_of})"),
            ("completion tokens", "unknown" if completion is None else f"at most {completion:,}"),
            ("price", _price(plan)),
            ("time", _time(plan, settings)),
        ]
    lines = [f"tablebench plan: {name}", *(f"  {line}" for line in aligned(rows, left=(0, 1)))]
    for axis in SAME_QUESTION:
        table = setting_plan(axis, plan.get(axis.plural) or ())
        lines += [f"  {line}" for line in terminal_lines([table])]
    return lines


def _thinking(plan: Mapping[str, Any]) -> str:
    total, replies = plan["reasoning_tokens"], plan["thinking_replies"]
    return f"{total:,} tokens in {counted(replies, 'stored reply', 'stored replies')}"


def _time(plan: Mapping[str, Any], settings: Settings) -> str:
    if plan["seconds"] is None:
        return "within a day for each step, by the provider's batch service"
    basis = "as in the store" if plan["measured"] else "assumed"
    at_once = f"{settings.connections} connections"
    at_once = "one call at a time" if plan.get("in_process") else at_once
    return (
        f"about {duration(plan['seconds'])} at {at_once} and "
        f"{plan['seconds_per_call']:.1f} s a call ({basis})"
    )


def _gates(by_model: Mapping[str, Sequence[PlannedGate]]) -> list[str]:
    """Return one line for each gate; models with equal lines share them."""
    together: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for model, gates in by_model.items():
        rows = tuple(
            (printable(name, 80), printable(text, 400))
            for gate in gates
            for name, text in ((gate.gate, gate.text), ("", gate.needs))
            if text
        )
        together.setdefault(rows, []).append(printable(model, 60))
    lines = []
    for rows, models in together.items():
        if not rows:
            continue
        whose = "" if len(together) == 1 else f" of {', '.join(models)}"
        lines.append(f"tablebench plan: gates{whose}")
        lines += [f"  {line}" for line in aligned(rows, left=(0, 1))]
    return lines
