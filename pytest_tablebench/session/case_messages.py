"""The messages about finished cases, from the process that runs them to the run writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.figures import newest
from pytest_tablebench.results.message import (
    AnswerCost,
    CaseMessage,
    Finding,
    MadeRecord,
    join_checks,
)
from pytest_tablebench.results.texts import example_key, table_entry
from pytest_tablebench.running.answer import EXTENDED, Answer, StepFacts
from pytest_tablebench.running.case import made_record
from pytest_tablebench.serializers.content import text_of
from pytest_tablebench.serializers.program_tables import MOST_CELLS
from pytest_tablebench.tables.table import Table

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Example
    from pytest_tablebench.running.case import CaseRun
    from pytest_tablebench.session._cases import Cases
    from pytest_tablebench.session._messages import CaseAhead
    from pytest_tablebench.session._verdict import Verdicts


class CaseMessages:
    """Makes the message of each finished item, without what was already reported."""

    def __init__(self, cases: Cases, verdicts: Verdicts | None) -> None:
        self._cases = cases
        self._verdicts = verdicts
        self._rows_reported = -1
        self._example_reported: dict[str, str] = {}
        """The key of the last example reported, by model: each model has its own run folder."""

    def message(self, run: CaseRun, finding: Finding, error: BaseException | None) -> CaseMessage:
        """Return the message of a finished item.

        `finding` is the result of the test, `error` its exception.
        """
        prompt = example = None
        turns = run.answer.turns if run.answer is not None else ()
        if run.prompt is not None and run.prompt_digest is not None:
            prompt = run.prompt_digest, text_of(run.prompt)
        if run.example is not None:
            case = run.case
            key = example_key(case.dataset, case.example_id, case.perturbation)
            if self._example_reported.get(case.model) != key:
                # The cases of an example follow each other, so its tables are sent once.
                self._example_reported[case.model] = key
                example = key, run.example.question, table_values(run.example)
        answer, case_record = run.answer, None
        if finding.passed is not None or run.has_result:
            record = run.record(join_checks([finding]), error or run.error)
            paid = bool(answer and answer.calls)
            # If a case has several records, one with an answer is kept, else one with a call.
            answered = -1 if run.is_skipped else int(run.answered)
            rank = answered, int(paid), -(run.position or 0)
            case_record = MadeRecord(record, rank)
        judged = [step for step in run.judging if step.kind == "ask" and not step.from_store]
        return CaseMessage(
            run.case.case_id,
            run.case.model,
            run.case.repeat,
            finding,
            case_record,
            calls=answer.calls if answer else 0,
            from_store=bool(answer and answer.from_store),
            stored_at=None if answer is None else newest(step.stored_at for step in answer.steps),
            spent=None if answer is None else _cost(answer),
            prompt=prompt,
            transcript=(str(run.transcript), turns) if turns else None,
            example=example,
            facts=self._new_facts(),
            judged=tuple(map(_cost, judged)),
            reasoning_tokens=answer.reasoning_tokens if answer is not None else None,
            is_extended=answer is not None and EXTENDED in answer.flags,
            served=answer.served if answer is not None else None,
        )

    def _new_facts(self) -> dict[str, Any] | None:
        """Return the facts if they have changed since the last report; else None."""
        # Called after every case: only the rows with problems can still change.
        rows = self._cases.runner.count_problems()
        if rows == self._rows_reported:
            return None
        self._rows_reported = rows
        return self.facts()

    def facts(self) -> dict[str, Any]:
        """Return the facts about data and plan in this process."""
        cases, runner = self._cases, self._cases.runner
        datasets = cases.selection.datasets()
        correcting = runner.correcting
        overlay = {}
        if correcting is not None:
            digest = correcting.corrections.digest
            overlay = {"corrections": {"file": correcting.file_names, "digest": digest}}
        return {
            **overlay,
            "datasets": runner.dataset_facts(),
            "grid": runner.axes.grid(datasets),
            "by_dataset": {
                name: runner.axes.recorded_settings(name, cases.limits.get(name))
                | {"does_not_apply": runner.left_out.get(name, {})}
                # Also datasets without an applicable case in this shard.
                for name in dict.fromkeys([*datasets, *runner.inapplicable])
            },
            "shards": runner.shards,
            "judge_params": runner.judge_params(datasets),
            "judge_prompts": runner.judge_prompts(datasets),
            "cases": cases.planned,
            "missing": dict(cases.selection.missing),
            "items": cases.selection.items_by_model(),
            "tests": cases.tests,
            "in_process": runner.models.in_process(),
            "model_files": runner.models.files(),
            "not_judged": self._verdicts.not_judged if self._verdicts is not None else [],
        }

    def first_facts(self) -> dict[str, Any]:
        """Return the facts at the start of the run; with a stopping rule, also its cases."""
        facts = self._new_facts() or {}
        if self._cases.settings.stop_rule is not None:
            facts["chosen"] = self._cases.selection.values()
        return facts


def _cost(spent: Answer | StepFacts) -> AnswerCost:
    return AnswerCost(spent.prompt_tokens, spent.completion_tokens, spent.cost_usd)


def died_message(ahead: CaseAhead) -> CaseMessage:
    """Return the message for a case whose worker died during the case."""
    finding = Finding(*ahead.finding)
    record = made_record(join_checks([finding]), {**ahead.case, "reason": "worker_died"})
    made = MadeRecord(record, (0, 0, 0))
    return CaseMessage(record.case_id, record.model, record.repeat, finding, made)


def table_values(example: Example) -> list[dict[str, Any]]:
    """Return an example's tables as JSON values, for the run folder; large ones without rows."""
    values: list[dict[str, Any]] = []
    for table in example.inputs.values():
        if isinstance(table, Table):
            is_whole = len(table.rows) * len(table.header) <= MOST_CELLS
            values.append(table_entry(table) | ({} if is_whole else {"rows": []}))
    return values
