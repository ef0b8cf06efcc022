"""Batches against a server with the protocol: no request is paid twice, whatever fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.errors import PENDING, ModelError, SettingsError
from pytest_tablebench.executors import Outcome, Work
from pytest_tablebench.executors.batch import BatchExecutor, Ledger
from pytest_tablebench.executors.batch.process import BatchProcess
from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.models import Message, Reply, Request, batch_service
from pytest_tablebench.store import Store
from tests.support.batch_server import BatchServer, Handed

MODEL = "openai/gpt-4o-mini"
KEY = "sk-marked-77aa"


class Others:
    """An executor that keeps the submitted work."""

    lost = None
    waits = ()

    def __init__(self) -> None:
        self.submitted: list[Work] = []

    def submit(self, work: Work, lane: str) -> None:
        self.submitted.append(work)

    def outcomes(self, *, wait: bool) -> list[tuple[str, Outcome]]:
        return []

    def totals(self) -> None:
        return None

    def stop(self, why: str) -> None:
        raise AssertionError(why)

    def close(self) -> None:
        """End."""


@dataclass
class Site:
    """A store, and the steps of a session: collect, ask, submit."""

    store: Path
    server: BatchServer
    others: Others = field(default_factory=Others)
    retries: int = 1
    max_cost: float | None = None
    model: str = MODEL

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store)

    def _run_process(self) -> BatchProcess:
        lanes = [(self.model, self.server.url)]
        return BatchProcess(str(self.store), lanes, 20.0, 1000, self.max_cost)

    def collect(self) -> None:
        self._run_process().collect()

    def ask(self, *requests: Request) -> list[Outcome]:
        """Return the outcomes of the cases of a session, one after the other."""
        executor = BatchExecutor(
            self.others, self.ledger, [self.model], self.retries, self.max_cost
        )
        outcomes: list[Outcome] = []
        for request in requests:
            with Store.open(self.store) as store:
                stored = store.get(request.key())
            if stored is not None:
                outcomes.append(stored)
                continue
            executor.submit(Work(request.key(), request), self.model)
            [(key, outcome)] = executor.outcomes(wait=True)
            assert key == request.key()
            outcomes.append(outcome)
        executor.close()
        return outcomes

    def hand_in(self) -> list[ModelError]:
        problems = self._run_process().hand_in()
        self.ledger.forget_requests()
        return problems

    def session(self, *requests: Request) -> list[Outcome]:
        self.collect()
        outcomes = self.ask(*requests)
        assert self.hand_in() == []
        return outcomes


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # Batches need no import of litellm.
    monkeypatch.setattr("pytest_tablebench.models.litellm_facts.load", pytest.fail)
    with BatchServer(lambda body: body["messages"][-1]["content"].upper()) as server:
        yield Site(tmp_path / "answers", server)


def request(text: str, **more: Any) -> Request:
    params = {"temperature": 0, "max_tokens": 16}
    return Request(MODEL, (Message("user", text),), params=params, case_id=text, **more)


A, B, C = request("a"), request("b"), request("c")


def reasons(outcomes: list[Outcome]) -> list[str]:
    return [
        outcome.reason if isinstance(outcome, ModelError) else "answered" for outcome in outcomes
    ]


def test_a_submitted_request_is_answered_later_and_submitted_once(site: Site) -> None:
    assert reasons(site.session(A, B)) == [PENDING, PENDING]
    [batch] = site.server.batches
    assert [row["body"] for row in batch.rows] == [
        {
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": text}],
            "temperature": 0,
            "max_tokens": 16,
        }
        for text in ("a", "b")
    ]
    assert {row["url"] for row in batch.rows} == {"/v1/chat/completions"}
    # Another run needs A and C: A is pending and not submitted again.
    assert reasons(site.session(A, C)) == [PENDING, PENDING]
    assert site.server.asked == [item.key() for item in (A, B, C)]
    site.server.finish()
    outcomes = site.session(A, B, C)
    assert [item.text for item in outcomes if isinstance(item, Reply)] == ["A", "B", "C"]
    # 1,000 tokens at .15 and 10 at .60 USD a million, half of it in a batch.
    assert [item.cost_usd for item in outcomes if isinstance(item, Reply)] == [
        pytest.approx(7.8e-5)
    ] * 3
    assert len(site.server.asked) == 3
    assert site.server.keys == {f"Bearer {KEY}"}
    for path in site.store.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
        # The ledger contains no prompts.
        assert not path.is_file() or b'"content"' not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("model", "variable", "sent"),
    [
        ("hosted_vllm/some/model", "HOSTED_VLLM_API_KEY", "Bearer fake-api-key"),
        ("litellm_proxy/some/model", "LITELLM_PROXY_API_KEY", "Bearer sk-own"),
        ("azure/some/model", "AZURE_API_KEY", "sk-own"),
    ],
)
def test_compatible_providers_never_receive_the_openai_key(
    site: Site, model: str, variable: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sent.endswith("sk-own"):
        monkeypatch.setenv(variable, "sk-own")
    monkeypatch.setattr(batch_service, "LOOK_S", 0.0)
    site.model, site.server.page, site.server.reading = model, 1, 2
    first, other = (replace(request, model=model) for request in (A, B))
    site.server.break_off = "after"
    site.ask(first)
    assert [error.reason for error in site.hand_in()] == ["server_error"]
    site.server.break_off = None
    # A later batch of another run is on the first page.
    site.server.batches.append(Handed("batch_2", [], {}))
    site.server.inputs["batch_2"] = "file-1"
    assert reasons(site.session(first, other)) == [PENDING, PENDING]
    assert site.server.asked == [first.key(), other.key()]
    assert {row["body"]["model"] for batch in site.server.batches for row in batch.rows} == {
        "some/model"
    }
    site.server.finish(failing={0: (429, "rate_limit_exceeded")}, answered=lambda _: True)
    site.server.batches[0].status = "completed"
    outcomes = site.session(first, other)
    assert reasons(outcomes) == [PENDING, PENDING]  # once more
    site.server.finish()
    assert [reply.text for reply in site.session(first, other) if isinstance(reply, Reply)] == [
        "A",
        "B",
    ]
    assert site.server.keys == {sent}
    azure = "/openai/" in "".join(site.server.paths)
    assert azure == model.startswith("azure/")


@pytest.mark.parametrize(("when", "made"), [("before", 1), ("after", 1)])
def test_a_connection_lost_during_submission_is_not_paid_twice(
    site: Site, when: str, made: int
) -> None:
    site.server.break_off = when
    site.ask(A)
    assert [error.reason for error in site.hand_in()] == ["server_error"]
    site.server.break_off = None
    # Whether the batch exists is unknown: nothing is submitted before the provider lists it.
    assert site.ledger.standing(1).under_way == {A.key()}
    assert reasons(site.session(A)) == [PENDING]
    assert len(site.server.batches) == made
    site.server.finish()
    assert reasons(site.session(A)) == ["answered"]
    assert site.server.asked == [A.key()]


def test_unanswered_requests_of_an_expired_batch_are_submitted_again(site: Site) -> None:
    site.session(A, B)
    site.server.finish("expired", answered=lambda number: number == 0)
    assert reasons(site.session(A, B)) == ["answered", PENDING]
    assert site.server.asked == [A.key(), B.key(), B.key()]
    site.server.finish("expired", answered=lambda _: False)
    # One further attempt was allowed.
    assert reasons(site.session(A, B)) == ["answered", "expired"]
    assert len(site.server.asked) == 3


def test_each_failed_request_of_a_batch_has_its_reason(site: Site) -> None:
    requests = [request(f"q{number}") for number in range(6)]
    site.retries = 0
    site.session(*requests)
    failing = {
        0: (429, "rate_limit_exceeded"),
        1: (400, "context_length_exceeded"),
        2: (0, "batch_expired"),
        3: (500, "down"),
        4: (401, "invalid_api_key"),
    }
    site.server.finish(failing=failing)
    outcomes = site.session(*requests)
    assert reasons(outcomes) == [
        "rate_limit",
        "context_window",
        "expired",
        "server_error",
        "auth",
        "answered",
    ]
    assert len(site.server.asked) == 6


def test_requests_of_a_refused_batch_have_its_reason(site: Site) -> None:
    site.session(A, B)
    site.server.finish("failed", answered=lambda _: False, errors=["line 1 \x1b[31m is no JSON"])
    outcomes = site.session(A, B)
    assert reasons(outcomes) == ["bad_request", "bad_request"]
    assert "line 1" in str(outcomes[0])
    site.session(A)
    assert len(site.server.asked) == 2  # the same run does not submit it again


def test_a_hostile_output_file_is_read_safely(site: Site) -> None:
    site.session(A, B)
    nested = b"[" * 100_000
    made_up = json.dumps({"custom_id": "f" * 64, "response": {"status_code": 200}}).encode()
    usage = {"prompt_tokens": "many", "completion_tokens": -1, "total_tokens": 10**30}
    choice = {"index": 0, "message": {"role": "assistant", "content": "x" * 5000}}
    body = {"choices": [choice], "usage": usage}
    long = {"custom_id": A.key(), "response": {"status_code": 200, "body": body}}
    none = {"custom_id": B.key(), "response": {"status_code": 200, "body": {"choices": 1}}}
    lines = [b"\xff{", nested, made_up, b"3", b'{"custom_id": []}']
    lines += [json.dumps(line).encode() for line in (long, none)]
    site.server.finish(answered=lambda _: False, extra=lines)
    site.retries = 0
    outcomes = site.session(A, B)
    assert reasons(outcomes) == ["answered", "bad_reply"]
    assert isinstance(outcomes[0], Reply)
    assert (len(outcomes[0].text), outcomes[0].cut) == (1000, True)
    assert (outcomes[0].prompt_tokens, outcomes[0].cost_usd) == (None, None)


def test_requests_beyond_the_budget_are_not_submitted(site: Site) -> None:
    # About 8 tokens of a prompt and 16 of a reply: about 5.4 millionths of a dollar each.
    site.max_cost = 8e-6
    assert reasons(site.session(A, B, C)) == [PENDING] * 3
    assert site.server.asked == [A.key()]
    site.server.finish()
    assert reasons(site.session(A, B, C)) == ["answered", "budget", "budget"]
    assert site.server.asked == [A.key()]


def test_pending_requests_count_against_the_budget(site: Site) -> None:
    site.max_cost = 8e-6  # one request is at most about 5.4e-6
    site.session(A)
    assert site.server.asked == [A.key()]
    # A is pending and may cost 5.4e-6, so B exceeds the budget.
    assert reasons(site.session(A, B)) == [PENDING, PENDING]
    assert site.server.asked == [A.key()]
    site.server.finish()
    assert reasons(site.session(A, B)) == ["answered", "budget"]


def test_a_higher_budget_submits_the_remaining_requests(site: Site) -> None:
    site.max_cost = 8e-6
    site.session(A, B)
    assert site.server.asked == [A.key()]
    site.max_cost = 20e-6
    assert reasons(site.session(A, B)) == [PENDING, PENDING]
    assert site.server.asked == [A.key(), B.key()]
    site.server.finish()
    assert reasons(site.session(A, B)) == ["answered", "answered"]


def test_programs_and_other_models_go_to_the_other_executor(site: Site) -> None:
    executor = BatchExecutor(site.others, site.ledger, [MODEL], 1)
    program = Execute("print(1)")
    executor.submit(Work(program.key(), program), "programs")
    executor.submit(Work(A.key(), A), "echo/any")
    assert [work.key for work in site.others.submitted] == [program.key(), A.key()]
    executor.close()
    assert list(site.ledger.collected_requests()) == []


def test_an_incomplete_line_of_a_killed_process_is_ignored(site: Site) -> None:
    site.ask(A)
    [spool] = site.ledger.folder.glob("*.wanted")
    spool.write_bytes(spool.read_bytes() + b'{"key": "half')
    assert site.hand_in() == []
    assert site.server.asked == [A.key()]
    assert list(site.ledger.folder.glob("*.wanted")) == []


def test_two_runs_cannot_submit_from_one_store(site: Site) -> None:
    first, second = site.ledger, site.ledger
    first.hold()
    with pytest.raises(SettingsError, match="another run uses"):
        second.hold()
    first.release()
    second.hold()
    second.release()


@pytest.mark.parametrize("content", [b"{", b'{"schema": 9, "name": "x"}', b"[]"])
def test_a_damaged_batch_file_is_reported_and_nothing_submitted(site: Site, content: bytes) -> None:
    site.ledger.folder.mkdir(parents=True)
    (site.ledger.folder / "x.json").write_bytes(content)
    with pytest.raises(SettingsError, match=r"x\.json cannot be read"):
        site.collect()


def test_a_damaged_request_file_is_reported(site: Site) -> None:
    site.session(A)
    [requests] = site.ledger.folder.glob("*.requests")
    requests.write_bytes(requests.read_bytes() + b'{"key": "half')
    with pytest.raises(SettingsError, match=r"\.requests cannot be read \(a line is not a request"):
        site.ask(A)
