"""What answered a run, in words."""

from __future__ import annotations

from pytest_tablebench.claims.differences import differences_between
from pytest_tablebench.results.run_facts import RunFacts, answered_by, served_name, short_names


def test_a_name_has_what_the_reply_says() -> None:
    assert served_name("m-1", "DeepInfra", "fp_1") == (
        "model m-1; provider DeepInfra; fingerprint fp_1"
    )
    assert served_name("m-1", None, None) == "model m-1"
    assert served_name(None, None, None) is None


def test_several_servers_are_named_by_what_differs() -> None:
    first, second = "model m; provider DeepInfra", "model m; provider Together"
    # 61 of 100 and 39 of 100.
    assert answered_by({second: 39, first: 61}) == "answered by DeepInfra 61 %, Together 39 %"
    assert answered_by({first: 100}) is None
    assert answered_by({}) is None
    third = "model other; provider Together"
    assert short_names([first, third]) == {first: first, third: third}
    assert short_names([first]) == {first: first}


def test_another_server_is_a_difference_of_two_runs() -> None:
    old, new = {"served": {"model m; fingerprint a": 9}}, {"served": {"model m; fingerprint b": 9}}
    [difference] = differences_between(RunFacts.from_json(old), RunFacts.from_json(new))
    assert (difference.name, difference.before, difference.after) == ("served", "a", "b")
    assert not difference.unlike
    assert differences_between(RunFacts.from_json(old), RunFacts.from_json({})) == ()
