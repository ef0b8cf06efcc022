"""What a process that runs cases tells the run writer, which may be another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.checks import Finding, join_checks
from pytest_tablebench.results.message import AnswerCost, CaseMessage, EncodedRecord
from pytest_tablebench.results.record import ScoreRow, row_values
from pytest_tablebench.results.texts import example_key
from pytest_tablebench.running.answer import EXTENDED
from pytest_tablebench.serializers.content import text_of
from pytest_tablebench.tables.table import STRUCTURE, Table

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Example
    from pytest_tablebench.running.runner import CaseRun
    from pytest_tablebench.session.state import Session


class Telling:
    """Tells each thing once.

    Arguments:
        state: of this process.
    """

    def __init__(self, state: Session) -> None:
        self._state = state
        self._rows_told = -1
        self._problems_told = 0
        self._example_told: dict[str, str] = {}
        """By model: each has a folder of its own."""
        self._cases_told = False

    def message(self, run: CaseRun, finding: Finding, error: BaseException | None) -> CaseMessage:
        """Return what a finished item tells, with facts where there are new ones."""
        prompt = example = None
        turns = run.answer.turns if run.answer is not None else ()
        if run.prompt is not None and run.prompt_digest is not None:
            prompt = run.prompt_digest, text_of(run.prompt)
        if run.example is not None:
            case = run.case
            key = example_key(case.dataset, case.example_id, case.perturbation)
            if self._example_told.get(case.model) != key:
                # The configurations of an example follow each other: told once is enough.
                self._example_told[case.model] = key
                example = key, run.example.question, _tables(run.example)
        return case_message(
            run,
            finding,
            error,
            prompt=prompt,
            transcript=(str(run.transcript), turns) if turns else None,
            example=example,
            facts=self.facts(),
            problems=self._problems(),
        )

    def _problems(self) -> tuple[str, ...]:
        """Return all that was read past, where it goes to another process and there is more."""
        if not self._state.role.sends:
            return ()
        found = tuple(self._state.problems)
        if len(found) == self._problems_told:
            return ()
        self._problems_told = len(found)
        return found

    def facts(self) -> dict[str, Any] | None:
        """Return what the writer has not been told yet; None when nothing is new."""
        runner = self._state.runner
        if runner is None:
            return None
        # Asked after every case: only what can still change is looked at.
        rows = runner.count_problems()
        if rows == self._rows_told:
            return None
        self._rows_told = rows
        return self.all_facts() | self._cases()

    def all_facts(self) -> dict[str, Any]:
        """Return what this process knows of data and plan."""
        state, runner = self._state, self._state.require_runner()
        return {
            "datasets": runner.dataset_facts(),
            "grid": runner.axes.grid(state.selection.datasets()),
            "by_dataset": {
                name: runner.axes.told(name, state.limits.get(name))
                | {"does_not_apply": runner.left_out.get(name, {})}
                # Where no case in this part of the run applies, that counts too.
                for name in dict.fromkeys([*state.selection.datasets(), *runner.inapplicable])
            },
            "shards": runner.shards,
            "judge_params": runner.judge_params(state.selection.datasets()),
            "cases": state.planned,
            "missing": dict(state.selection.missing),
            "items": state.selection.items_by_model(),
            "tests": state.tests,
            "in_process": runner.models.in_process(),
            "model_files": runner.models.files(),
            "transport": runner.models.transport_note(),
            "not_judged": state.verdicts.not_judged if state.verdicts else [],
        }

    def _cases(self) -> dict[str, Any]:
        """Return the cases that will run, once, where a stopping rule has to know them."""
        state = self._state
        if state.settings.stop_rule is None or not state.role.speaks or self._cases_told:
            return {}
        self._cases_told = True
        return {"chosen": state.selection.values()}


def case_message(
    run: CaseRun, finding: Finding, error: BaseException | None, **told: Any
) -> CaseMessage:
    """Return what the run writer needs of what a test found of its case.

    `told` are the fields of the message that are no finding about the case.
    """
    answer, case, found = run.answer, run.case, None
    if not _says_nothing(run, finding):
        record = run.record(join_checks([finding]), error or run.error)
        paid = bool(answer and answer.calls)
        # A record with an answer is better than one without, and what was paid for is told.
        rank = int(run.answered), int(paid), -(run.position or 0)
        found = EncodedRecord(record.to_line(), ScoreRow(*row_values(record)), record.outcome, rank)
    spent = None
    if answer is not None:
        spent = AnswerCost(answer.prompt_tokens, answer.completion_tokens, answer.cost_usd)
    judged = [step for step in run.judging if step.kind == "ask" and not step.from_store]
    return CaseMessage(
        case.case_id,
        case.model,
        case.repeat,
        finding,
        found,
        calls=answer.calls if answer else 0,
        from_store=bool(answer and answer.from_store),
        spent=spent,
        reasoning_tokens=answer.reasoning_tokens if answer is not None else None,
        is_extended=answer is not None and EXTENDED in answer.flags,
        judged=tuple(
            AnswerCost(step.prompt_tokens, step.completion_tokens, step.cost_usd) for step in judged
        ),
        **told,
    )


def _says_nothing(run: CaseRun, finding: Finding) -> bool:
    """Whether a test was skipped before anything could be said of its case."""
    if finding.passed is not None or run.error is not None:
        return False
    return not run.answered or run.asked.metric is None


def _tables(example: Example) -> list[dict[str, Any]]:
    """Return an example's tables as JSON values, for readers of the run."""
    return [_values(table) for table in example.inputs.values() if isinstance(table, Table)]


def _values(table: Table) -> dict[str, Any]:
    rows = [list(row) for row in table.rows]
    values = {"title": table.title, "header": list(table.header), "rows": rows}
    if not table.is_structured:
        return values
    return {**values, "structure": {name: getattr(table, name) for name in STRUCTURE}}
