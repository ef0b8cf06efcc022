"""The explanation why an answer is not in the store names the first differing field."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.store import Store
from pytest_tablebench.store._layer import Layer

PROMPT = "x" * 1204
STORED = Request(
    "gpt-4o",
    (Message("system", "Answer."), Message("user", PROMPT)),
    {"temperature": 0, "max_tokens": 512, "stop": ["\n"]},
    api_base="http://localhost:8000/v1",
    case_id="wikitq/nu-1/html/none",
)


def kept(path, *requests: Request) -> Store:
    """Return a newly opened store with an answer to each request."""
    with Store.open(path) as store:
        for request in requests:
            store.put(request, Reply("t"))
    return Store.open(path)


def params(**changes: object) -> dict[str, object]:
    return {**STORED.params, **changes}


def without(name: str) -> dict[str, object]:
    return {key: value for key, value in STORED.params.items() if key != name}


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "model": ({"model": "gpt-4o-mini"}, "model: stored gpt-4o, asked gpt-4o-mini"),
    "endpoint": (
        {"api_base": "http://me:pw@other/v1?k=1"},
        "api_base: stored http://localhost:8000/v1, asked http://other/v1?sha256:ae762cb23406",
    ),
    "no endpoint": (
        {"api_base": None},
        "api_base: stored http://localhost:8000/v1, asked none",
    ),
    "param": ({"params": params(temperature=0.5)}, "params.temperature: stored 0, asked 0.5"),
    "kind": ({"params": params(temperature="0")}, 'params.temperature: stored 0, asked "0"'),
    "list": ({"params": params(stop=["a"])}, 'params.stop: stored ["\\n"], asked ["a"]'),
    "more": ({"params": params(seed=1)}, "params.seed: not stored, asked 1"),
    "null": ({"params": params(seed=None)}, "params.seed: not stored, asked none"),
    "fewer": ({"params": without("max_tokens")}, "params.max_tokens: stored 512, not asked"),
    "long": (
        {"params": params(stop=["y" * 1000])},
        "params.stop differs (stored 6 characters, asked 1,004)",
    ),
    "strategy": ({"strategy": "pot"}, "strategy: stored direct, asked pot"),
    "step": ({"step": 1}, "step: stored 0, asked 1"),
    "repeat": ({"repeat": 2}, "repeat: stored 1, asked 2"),
    "generation": ({"generation": "b"}, 'generation: stored "", asked b'),
    "count": ({"messages": STORED.messages[:1]}, "messages: stored 2, asked 1"),
    "role": (
        {"messages": (Message("user", "Answer."), STORED.messages[1])},
        "messages[0].role: stored system, asked user",
    ),
    "content": (
        {"messages": (STORED.messages[0], Message("user", PROMPT + "a table"))},
        "messages[1].content differs (stored 1,204 characters, asked 1,211 characters)",
    ),
    "same length": (
        {"messages": (Message("system", "answer."), STORED.messages[1])},
        "messages[0].content differs (stored 7 characters, asked 7 characters)",
    ),
}


@pytest.mark.parametrize(("changes", "said"), CASES.values(), ids=CASES)
def test_the_differing_field_is_named(tmp_path, changes, said):
    with kept(tmp_path, STORED) as store:
        assert store.explain(replace(STORED, **changes)) == said


def test_every_compared_field_is_tested():
    changed = {name for changes, _ in CASES.values() for name in changes}
    assert changed == {field.name for field in fields(Request) if field.compare}


def test_the_first_field_in_the_order_of_comparison_is_named(tmp_path):
    changes: dict[str, Any] = {
        "model": "m",
        "api_base": None,
        "params": {},
        "strategy": "pot",
        "step": 1,
        "repeat": 2,
        "messages": (),
    }
    with kept(tmp_path, STORED) as store:
        while changes:
            first = next(iter(changes))
            assert store.explain(replace(STORED, **changes)).startswith(first)
            del changes[first]
        assert store.explain(STORED) == "an answer of this request is stored"


def test_the_nearest_of_several_is_compared(tmp_path):
    other = replace(STORED, model="gpt-4o-mini")
    second = replace(STORED, step=1, messages=(*STORED.messages, Message("user", "Go on.")))
    with kept(tmp_path, other, STORED, second, replace(STORED, repeat=2)) as store:
        asked = replace(other, params=params(temperature=1))
        assert store.explain(asked) == "params.temperature: stored 0, asked 1"
        asked = replace(second, messages=(*STORED.messages, Message("user", "Go on!!")))
        assert store.explain(asked).startswith("messages[2].content differs")


def test_without_the_case_the_nearest_request_of_the_model_is_compared(tmp_path):
    asked = replace(STORED, case_id="wikitq/nu-2/html/none", messages=(Message("user", "other"),))
    with kept(tmp_path, STORED) as store:
        assert store.explain(asked) == "no answer of this case is stored"
        assert store.explain(replace(asked, params=params(temperature=0.5))) == (
            "no answer of this case is stored; of other cases of gpt-4o: "
            "params.temperature: stored 0, asked 0.5"
        )
        assert store.explain(replace(asked, model="m")) == (
            "no answer of this case is stored, nor any of m; there are answers of gpt-4o"
        )


def test_an_empty_store_is_named(tmp_path):
    with Store.open(tmp_path) as store:
        assert store.explain(STORED) == "no answer of this case is stored, nor any of gpt-4o"


def test_a_difference_only_in_secrets_is_named(tmp_path):
    with kept(tmp_path, replace(STORED, params=params(auth_token="a"))) as store:
        said = store.explain(replace(STORED, params=params(auth_token="b")))
        assert "something that is not stored differs" in said


def test_all_layers_are_compared(tmp_path):
    with kept(tmp_path / "below", STORED), kept(tmp_path / "top", replace(STORED, model="m")):
        pass
    with Store.open(tmp_path / "top", [tmp_path / "below"]) as store:
        assert store.explain(replace(STORED, repeat=3)) == "repeat: stored 1, asked 3"


def test_answers_stored_after_the_first_explanation_count(tmp_path):
    asked = replace(STORED, repeat=2)
    with Store.open(tmp_path) as store, Store.open(tmp_path) as other:
        assert store.explain(asked).startswith("no answer of this case is stored")
        other.put(STORED, Reply("t"))
        store.refresh()
        assert store.explain(asked) == "repeat: stored 1, asked 2"
        store.put(replace(asked, step=1), Reply("t"))
        assert store.explain(replace(asked, step=2)) == "step: stored 0, asked 2"
        store.put(replace(asked, step=2, strategy="pot"), Reply("t"))
        assert store.explain(replace(asked, step=2, strategy="pot", repeat=3)).startswith("repeat")


def test_a_damaged_entry_explains_nothing(tmp_path):
    kept(tmp_path, STORED).close()
    (path,) = (tmp_path / "segments").iterdir()
    path.write_text(path.read_text().replace('"repeat": 1', '"repeat": 7'))
    with Store.open(tmp_path) as store:
        assert store.explain(replace(STORED, repeat=2)).startswith("no answer of this case")
        assert len(store.warnings) == 1


@pytest.mark.parametrize(("case_id", "most"), [(None, 1), ("", 200)])
def test_each_entry_is_read_once_and_a_miss_reads_few_entries(tmp_path, monkeypatch, case_id, most):
    reads = []
    read = Layer.read

    def counted(layer: Layer, *arguments: Any) -> Any:
        reads.append(arguments)
        return read(layer, *arguments)

    def request(number: int, repeat: int) -> Request:
        name = f"case {number}" if case_id is None else case_id
        return Request("m", (Message("user", str(number)),), repeat=repeat, case_id=name)

    with kept(tmp_path, *(request(number, 1) for number in range(2000))) as store:
        monkeypatch.setattr(Layer, "read", counted)
        for number in range(20):
            assert store.explain(request(number, 2)) == "repeat: stored 1, asked 2"
        assert 2000 <= len(reads) <= 2000 + 20 * most
