"""The answer store with several entries, writers and layers, and its resolutions."""

from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.errors import StoreError
from pytest_tablebench.models import Reply, Resolution
from pytest_tablebench.store import Store
from tests.support.matrix import draws
from tests.support.present import present
from tests.support.stores import ask, filled, segments, text_of

# Several entries, several layers


def test_of_several_entries_the_first_line_of_the_first_segment_is_served(tmp_path):
    for text in ("one", "two"):
        with Store.open(tmp_path) as store:
            store.put(ask(), Reply(text))
            store.put(ask(), Reply(f"{text} again"))
            assert text_of(store, ask()) == "one"
    with Store.open(tmp_path) as store:
        assert text_of(store, ask()) == "one"
        assert len(store) == 1
        # A segment that is listed later but was created earlier.
        early = segments(tmp_path)[0].with_name("20000101T000000.000000Z-1-00000000.jsonl")
        with Store.open(tmp_path / "elsewhere") as other:
            other.put(ask(), Reply("zero"))
        early.write_bytes(segments(tmp_path / "elsewhere")[0].read_bytes())
        store.refresh()
        assert text_of(store, ask()) == "zero"


@pytest.mark.parametrize("damaged", [("one",), ("one", "two"), ("two", "three"), ("three", "one")])
def test_if_an_entry_is_damaged_another_is_served(tmp_path, damaged):
    with Store.open(tmp_path) as store:
        for text in ("one", "two", "three"):
            store.put(ask(), Reply(text))
    (path,) = segments(tmp_path)
    content = path.read_text()
    for text in damaged:
        content = content.replace(f'"{text}"', f'"{text.upper()}"')
    path.write_text(content)
    sound = [text for text in ("one", "two", "three") if text not in damaged]
    with Store.open(tmp_path) as store:
        assert text_of(store, ask()) == sound[0]
        assert text_of(store, ask()) == sound[0]
        assert len(store.warnings) == len(damaged)


def test_the_first_layer_with_the_key_is_served(tmp_path):
    top, middle, bottom = tmp_path / "top", tmp_path / "middle", tmp_path / "bottom"
    for path, texts in ((bottom, "abc"), (middle, "ab"), (top, "a")):
        with Store.open(path) as store:
            for text in texts:
                store.put(ask(text), Reply(f"{path.name} {text}"))
    with Store.open(top, [middle, bottom, middle, top]) as store:
        assert len(store._layers) == 3
        served = [text_of(store, ask(text)) for text in "abcd"]
        assert served == ["top a", "middle b", "bottom c", None]
        assert len(store) == 3
        assert ask("c").key() in store
        store.put(ask("c"), Reply("top c"))
        assert text_of(store, ask("c")) == "top c"
    with Store.open(None, [bottom, top]) as store:
        assert text_of(store, ask("c")) == "bottom c"
        assert len(segments(bottom)) == len(segments(middle)) == 1


def test_if_an_entry_is_damaged_the_next_layer_is_served(tmp_path):
    for name in ("top", "bottom"):
        filled(tmp_path / name, "a")
    (path,) = segments(tmp_path / "top")
    path.write_text(path.read_text().replace("to a", "to z"))
    with Store.open(tmp_path / "top", [tmp_path / "bottom"]) as store:
        assert text_of(store, ask("a")) == "to a"
        assert len(store.warnings) == 1


def test_a_layer_can_be_a_folder_of_segment_files(tmp_path):
    filled(tmp_path / "store", "a")
    copy = tmp_path / "artifact"
    copy.mkdir()
    segments(tmp_path / "store")[0].rename(copy / "answers.jsonl")
    with Store.open(None, [copy]) as store:
        assert text_of(store, ask("a")) == "to a"
        assert store.warnings == []
    with Store.open(None, [tmp_path / "store"]) as store:
        assert len(store) == 0
        assert "contains no segments" in store.warnings[0]


def test_refresh_reads_new_answers_of_other_writers(tmp_path):
    with Store.open(tmp_path) as reader, Store.open(tmp_path) as writer:
        for text in "abc":
            writer.put(ask(text), Reply(text))
            assert reader.get(ask(text).key()) is None
            reader.refresh()
            assert text_of(reader, ask(text)) == text
        assert len(reader) == 3
        assert reader.warnings == []


def test_repeated_looks_find_new_answers_and_are_limited_in_time(tmp_path, monkeypatch):
    seconds = itertools.count()  # every look takes a second
    clock = SimpleNamespace(perf_counter=lambda: next(seconds))
    monkeypatch.setattr("pytest_tablebench.store._store.time", clock)
    store, other = Store.open(tmp_path), Store.open(tmp_path)
    other.put(ask("a"), Reply("first"))
    assert present(store.look_again(ask("a").key())).text == "first"
    other.put(ask("b"), Reply("second"))
    looks = 0
    while store.look_again(ask("b").key()) is None:
        looks += 1
    assert looks == 18  # one second of looking, then none for nineteen
    store.close()
    other.close()


def test_an_unfinished_line_is_read_once_complete(tmp_path):
    requests = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    with Store.open(tmp_path) as store:
        assert text_of(store, requests[1]) is None
        path.write_bytes(content)
        store.refresh()
        assert text_of(store, requests[1]) == "to b"


def test_several_threads_can_use_a_store(tmp_path):
    wrong: list[str] = []

    def work(name: str) -> None:
        for number in range(50):
            request = ask(f"{name} {number}")
            store.put(request, Reply(request.text))
            store.refresh()
            if text_of(store, request) != request.text:
                wrong.append(request.text)

    with Store.open(tmp_path) as store:
        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(store) == 200
    assert len(segments(tmp_path)) == 1


# Resolutions


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@settings(max_examples=draws(50))
@given(key=st.text(st.characters(), min_size=1, max_size=30), value=VALUES)
def test_a_resolution_is_read_back(tmp_path_factory, key, value):
    path = tmp_path_factory.mktemp("store")
    with Store.open(path) as store:
        store.put_resolution({"key": key, "sent": value})
        assert store.get_resolution(key) == {"key": key, "sent": value}
        assert len(store) == 0
    with Store.open(path) as store:
        assert store.get_resolution(key) == {"key": key, "sent": value}
        assert store.get_resolution(key + "?") is None
        assert store.warnings == []


def test_the_last_resolution_of_the_first_layer_is_served(tmp_path):
    top, bottom = tmp_path / "top", tmp_path / "bottom"
    with Store.open(top) as first, Store.open(top) as second, Store.open(bottom) as below:
        second.put_resolution({"key": "m", "price": 1})
        first.put_resolution({"key": "m", "price": 2})  # into the earlier segment or the later
        second.put(ask(), Reply("t"))
        below.put_resolution({"key": "m", "price": 3})
        below.put_resolution({"key": "n", "price": 4})
        first.refresh()
        assert first.get_resolution("m") == {"key": "m", "price": 2}
        assert text_of(first, ask()) == "t"
    with Store.open(top, [bottom]) as store:
        found = store.get_resolution("m")
        assert found == {"key": "m", "price": 2}
        found["price"] = 9
        assert store.get_resolution("m") == {"key": "m", "price": 2}
        assert store.get_resolution("n") == {"key": "n", "price": 4}


def test_the_resolution_of_a_model_is_read_back_completely(tmp_path):
    known = Resolution(
        params={"max_tokens": 512},
        sent={"max_completion_tokens": 512},
        dropped={"temperature": "it is not supported"},
        provider="openai",
        input_cost_per_token=1.1e-06,
        output_cost_per_token=4.4e-06,
        batch_input_cost_per_token=5.5e-07,
        batch_output_cost_per_token=2.2e-06,
        max_input_tokens=200_000,
        tokenizer="o200k_base",
        sees=True,
        continues=False,
        reasons=True,
        max_output_tokens=100_000,
        litellm_version="1.100.0",
        deprecation_date="2026-12-31",
    )
    assert None not in vars(known).values()
    with Store.open(tmp_path) as store:
        store.put_resolution({"key": "k", "facts": known.to_json()})
    with Store.open(tmp_path) as store:
        assert Resolution.from_json(present(store.get_resolution("k"))["facts"]) == known


@settings(max_examples=draws(20))
@given(where=st.lists(st.sampled_from(["top", "bottom"]), max_size=6))
def test_all_resolutions_are_listed_with_the_last_first(tmp_path_factory, where):
    path = tmp_path_factory.mktemp("store")
    with Store.open(path / "top") as top, Store.open(path / "bottom") as bottom:
        for number, name in enumerate(where):
            (top if name == "top" else bottom).put_resolution({"key": f"k{number}", "n": number})
    with Store.open(path / "top", [path / "bottom"]) as store:
        assert [found["n"] for found in store.resolutions()] == [*reversed(range(len(where)))]


@pytest.mark.parametrize("resolution", [{}, {"key": ""}, {"key": 3}])
def test_a_resolution_needs_a_key(tmp_path, resolution):
    with Store.open(tmp_path) as store, pytest.raises(StoreError, match='under "key"'):
        store.put_resolution(resolution)
