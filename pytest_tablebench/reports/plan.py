"""The plan of a run: calls, price and time of each model, and what its gates can detect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import SAME_QUESTION
from pytest_tablebench.config.parameters import WINDOW
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import duration, table_of
from pytest_tablebench.errors import writing
from pytest_tablebench.reports._same_question import setting_plan
from pytest_tablebench.reports.project import retirement_line
from pytest_tablebench.results import SCHEMA
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import are, counted

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import PlannedGate
    from pytest_tablebench.config.settings import Settings


def plan_report(
    plans: Iterable[Mapping[str, Any]],
    settings: Settings,
    gates: Mapping[str, Sequence[PlannedGate]] | None = None,
) -> doc.Document:
    """Return the planned calls to each model and their highest price.

    With `--bench-plan` a table for each model, else a sentence.

    Arguments:
        plans: the fields of `ModelPlan`; models whose answers cost nothing have none.
        settings: of the run.
        gates: by model, the effects that its gates can detect with the planned cases.
    """
    blocks: list[doc.Block] = []
    for plan in plans:
        name = f"judge {plan['model']}" if plan.get("judges") else plan["model"]
        if settings.plan:
            blocks += _tables(name, plan, settings)
        else:
            blocks.append(doc.Paragraph(_sentence(name, plan)))
        if retires := retirement_line(name, plan.get("deprecation_date")):
            blocks.append(doc.Paragraph(retires))
        notes = *_limits(plan), *_sent(plan, settings)
        blocks += [doc.Paragraph(f"{name}: {note}") for note in notes]
    if settings.plan and not blocks:
        blocks.append(doc.Paragraph("no server is called, so there is nothing to pay"))
    blocks += _gates(gates or {})
    if settings.plan:
        blocks.append(doc.Paragraph("this was the plan only; no call was made"))
    return doc.Document("Plan", blocks)


def _limits(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the figures of a plan leave out or assume."""
    if plan.get("further"):
        yield (
            f"these figures leave out further steps of {', '.join(plan['further'])}, which depend "
            f"on answers that do not exist yet"
        )
    if plan.get("pictures"):
        pictures = counted(plan["pictures"], "picture")
        yield f"these figures leave out {pictures}, because their tokens are unknown"
    if supposed := plan.get("supposed"):
        yield (
            f"{counted(supposed, 'answer')} {are(supposed)} not stored yet; the questions about "
            f"them assume the expected answer"
        )
    if plan.get("at_most"):
        yield (
            f"at most {counted(plan['at_most'], 'question')} of these, because it decides only "
            f"replies that are unclear by the rules"
        )
    if plan.get("unknown"):
        yield (
            f"whether {counted(plan['unknown'], 'answer')} will need a call depends on programs "
            f"that have not run yet"
        )


def _sent(plan: Mapping[str, Any], settings: Settings) -> Iterator[str]:
    """Yield what is sent to a model, and what its store and its context mean for the run."""
    sent = plan["sent"] or {}
    if plan.get("room"):
        limits = ", ".join(f"{key}={sent[key]}" for key in sent if "tokens" in key.lower())
        yield (
            f"it thinks, so its limit is {plan['room']:,} tokens above the answer's limit "
            f"(--bench-reasoning-tokens){f': {limits}' if limits else ''}"
        )
    if settings.compares_snapshots and plan["hits"]:
        yield (
            f"{plan['hits']:,} of {counted(plan['requests'], 'answer')} {are(plan['hits'])} in the "
            f"store. Snapshots of these cannot show that the model has changed; --bench-fresh asks "
            f"again"
        )
    for parameter, why in (plan["dropped"] or {}).items():
        yield f"{parameter} is not sent: {why}"
    if plan["calls"] and (window := sent.get(WINDOW)) is not None:
        yield (
            f"{WINDOW}={window} is sent, so that Ollama reads the whole prompt; --bench-context=N "
            f"sends another length"
        )
    if plan.get("context_unknown"):
        yield (
            "prompts are not cut, because the model's context is unknown; name its tokens with "
            "--bench-context=N"
        )
    if too_long := plan["too_long"]:
        look = "looks" if too_long == 1 else "look"
        yield f"{counted(too_long, 'prompt')} {look} longer than the model reads"


def _sentence(name: str, plan: Mapping[str, Any]) -> str:
    qualifier = "" if plan["exact"] else "about "
    line = f"{name}: {qualifier}{counted(plan['calls'], 'call')} ahead"
    if plan["cases"] - plan["calls"]:
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


def _tables(name: str, plan: Mapping[str, Any], settings: Settings) -> Iterator[doc.Block]:
    basis_of = f"by {plan['tokenizer']}" if plan["tokenizer"] else "at 4 characters each"
    prompt, completion = plan["prompt_tokens"], plan["completion_tokens"]
    rows = [
        ("cases", f"{plan['cases']:,}"),
        ("distinct requests", f"{plan['requests']:,}"),
        ("in the store", f"{plan['hits']:,}"),
        ("calls", f"{plan['calls']:,}"),
    ]
    if replies := plan.get("thinking_replies"):
        stored = counted(replies, "stored reply", "stored replies")
        rows.append(("of thinking", f"{plan['reasoning_tokens']:,} tokens in {stored}"))
    if plan["unusable"]:
        rows.append(("without a prompt", f"{plan['unusable']:,} (their tables cannot be shown)"))
    if plan["calls"]:
        rows += [
            ("prompt tokens", "unknown" if prompt is None else f"about {prompt:,} ({basis_of})"),
            ("completion tokens", "unknown" if completion is None else f"at most {completion:,}"),
            ("price", _price(plan)),
            ("time", _time(plan, settings)),
        ]
    yield doc.Heading(("plan of ", doc.Code(name, 60)), 3)
    yield _pairs(rows)
    for axis in SAME_QUESTION:
        yield setting_plan(axis, plan.get(axis.plural) or ())


def _pairs(rows: Iterable[tuple[str, str]]) -> doc.TableBlock:
    columns = [doc.Column(kind="text"), doc.Column(kind="text")]
    return table_of(columns, [(doc.Code(name), doc.Code(text, 400)) for name, text in rows])


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


def _gates(by_model: Mapping[str, Sequence[PlannedGate]]) -> Iterator[doc.Block]:
    """Yield a table of the gates; models with equal rows share it."""
    together: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for model, gates in by_model.items():
        rows = tuple(
            (name, text)
            for gate in gates
            for name, text in ((gate.gate, gate.text), ("", gate.needs))
            if text
        )
        together.setdefault(rows, []).append(model)
    for rows, models in together.items():
        if rows:
            whose = "" if len(together) == 1 else f" of {', '.join(models)}"
            yield doc.Heading(f"gates{whose}", 3)
            yield _pairs(rows)


def plan_table(models: Sequence[str], plans: Mapping[str, Mapping[str, Any]]) -> doc.TableBlock:
    """Return the planned calls of each model, with price and time.

    `plans` are the fields of `ModelPlan` by model; models without a plan cost nothing.
    """
    rows: list[Sequence[doc.Cell]] = []
    for model in models:
        plan = plans.get(model)
        calls = plan["calls"] if plan else 0
        seconds = plan["seconds"] if plan else None
        time = "-" if not calls else "within a day" if seconds is None else duration(seconds)
        rows.append(
            (
                (doc.Code(model, 80), " (judge)" if plan and plan.get("judges") else ""),
                doc.Figure(calls, "count"),
                doc.Figure(plan["hits"] if plan else None, "count"),
                doc.Figure(plan["cost_usd"] if plan and calls else 0.0, "money", unknown="unknown"),
                time,
            )
        )
    return table_of(("", "calls", "in the store", "price at most", "time"), rows)


def write_plan(
    path: Path,
    cases: int,
    plans: Iterable[Mapping[str, Any]],
    gates: Mapping[str, Sequence[PlannedGate]],
) -> None:
    """Write the number of selected cases, and the plans and gates of each model, as JSON.

    `plans` and `gates` are as in `plan_report`. Raises `SettingsError` if the file cannot be
    written.
    """
    content = {
        "schema": SCHEMA,
        "cases": cases,
        "models": list(plans),
        "gates": {model: [asdict(gate) for gate in planned] for model, planned in gates.items()},
    }
    with writing(f"--bench-plan-json: cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content, indent=2, default=str) + "\n")
