"""Messages between the processes of a run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors._wire import (
    LineSplitter,
    error_fields,
    execute_body,
    header,
    pack,
    read_error,
    read_execute,
    read_request,
    reply_fields,
    request_body,
    to_json,
)
from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.serializers.content import SentBack, ToolCall, ToolResult
from pytest_tablebench.util.leftovers import SharedFile

TEXTS = st.text() | st.text("\t\n\r\x00\u2028\x85 {}\"'")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
HEADS = st.dictionaries(TEXTS, VALUES, max_size=4)


@given(st.lists(st.tuples(HEADS, st.none() | VALUES), max_size=6), st.data())
def test_messages_are_read_from_any_pieces(messages: list[tuple[dict, object]], data) -> None:
    stream = b"".join(
        pack(head, None if body is None else to_json(body)) for head, body in messages
    )
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=10).map(sorted))
    lines = LineSplitter()
    arrived = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        arrived += lines.feed(stream[start:end])
    assert len(arrived) == len(messages)
    for line, (head, body) in zip(arrived, messages, strict=True):
        read, rest = header(line)
        assert read == head
        assert rest == (b"" if body is None else to_json(body))


@given(
    st.lists(st.tuples(TEXTS, TEXTS), max_size=3),
    st.dictionaries(TEXTS, VALUES, max_size=3),
    st.none() | TEXTS,
    st.integers(0, 9),
    st.integers(1, 9),
    TEXTS,
)
def test_a_request_survives_the_wire(  # noqa: PLR0917 - drawn by name
    messages, params, api_base, step, repeat, case_id
) -> None:
    request = Request(
        "m",
        tuple(Message(role, content) for role, content in messages),
        params,
        api_base=api_base,
        step=step,
        repeat=repeat,
        case_id=case_id,
    )
    read = read_request(request_body(request))
    assert read == request
    assert read.case_id == case_id
    assert read.key() == request.key()


@given(TEXTS, st.none() | TEXTS, st.none() | st.integers(0), st.none() | st.floats(0, 1e9))
def test_a_reply_survives_the_wire(text, finish_reason, tokens, cost) -> None:
    reply = Reply(text, finish_reason, tokens, None, cost, 0.25, from_store=True)
    head, _ = header(pack({"reply": reply_fields(reply)})[:-1])
    assert Reply(**head["reply"]) == reply


@given(TEXTS, st.booleans(), st.booleans(), st.none() | st.floats(0, 1e9))
def test_an_error_survives_the_wire(message, retryable, whole_run, retry_after) -> None:
    error = ModelError(
        message, reason="r", retryable=retryable, whole_run=whole_run, retry_after=retry_after
    )
    head, _ = header(pack({"error": error_fields(error)})[:-1])
    read = read_error(head["error"])
    assert (str(read), vars(read)) == (message, vars(error))


def test_tool_calls_survive_the_wire() -> None:
    call = ToolCall("c1", "query", '{"sql": "é"}', '{"provider_specific_fields": {}}')
    reply = Reply("", "tool_calls", calls=(call,), sent_back='{"reasoning_content": "hm"}')
    head, _ = header(pack({"reply": reply_fields(reply)})[:-1])
    assert Reply(**head["reply"]) == reply
    messages = (reply.turn, Message("tool", (ToolResult("c1", "41"),)))
    request = Request("m", messages, {"tools": [{"type": "function"}]})
    assert read_request(request_body(request)) == request
    assert request.messages[0].content[0] == SentBack(reply.sent_back)


def test_a_large_file_of_many_programs_is_passed_on_by_its_path() -> None:
    data = SharedFile(b"a,b\n" * 20_000)
    program = Execute("1", {"df.csv": data, "job.json": b"{}"})
    assert len(execute_body(program)) < 1000
    for whole in (False, True):
        read = read_execute(execute_body(program, whole=whole))
        assert read == program
        assert read.key() == program.key()
