"""Options that say how models are called, and where their answers are kept."""

from __future__ import annotations

from pytest_tablebench.config.options._option import Option, ignore, note, refuse
from pytest_tablebench.config.reading import (
    address,
    folders,
    number,
    one_name,
    params,
    store,
    switch,
)

__all__ = ["CALLS"]

CALLS = (
    Option(
        "--bench-api-base",
        "URL",
        "address of the model's server. Default: litellm's",
        setting="api_base",
        read=address,
        recorded="api_base",
        differs=note("another server answered", unset="the provider's own"),
        shown=True,
    ),
    Option(
        "--bench-param",
        "K=V",
        "parameter of every model call, as JSON or text, over those that a dataset declares. "
        "Repeatable",
        setting="params",
        read=params,
        recorded="params",
        differs=refuse(
            "lengths and randomness of replies may differ",
            values="call parameters",
            effect="lengths and randomness of replies may differ",
        ),
        repeat=True,
        shown=True,
        by_dataset=True,
    ),
    Option(
        "--bench-connections",
        "N",
        "model calls in flight in the whole run, however many workers. Default: 32",
        setting="connections",
        read=number(int, 1, "a whole number from 1"),
        recorded="connections",
        differs=ignore("speed alone"),
    ),
    Option(
        "--bench-timeout",
        "S",
        "seconds a model call may take. Default: 120",
        setting="timeout",
        read=number(float, 0.001, "seconds above 0"),
        recorded="timeout_s",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-max-reply",
        "BYTES",
        "what an answer keeps of a longer reply, up to 2000000; its record has the flag `cut`. "
        "Default: 1000000",
        setting="max_reply",
        read=number(int, 1000, "bytes from 1000 to 2000000", high=2_000_000),
        recorded="max_reply",
        differs=ignore("replies that were cut are flagged"),
    ),
    Option(
        "--bench-retries",
        "N",
        "further attempts after a passing failure. Default: 5",
        setting="retries",
        read=number(int, 0, "a whole number from 0"),
        recorded="retries",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-patience",
        "S",
        "seconds for which a provider may answer nothing at all, too many requests say, until it "
        "is asked no more. Default: 180",
        setting="patience",
        read=number(float, 0.001, "seconds above 0"),
        recorded="patience_s",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-repeats",
        "N",
        "times each case is asked, for pass@k and spread. Default: 1",
        setting="repeats",
        read=number(int, 1, "a whole number from 1"),
        recorded="repeats",
        differs=refuse(
            "the cases were asked another number of times",
            unset="1",
            values="repeats of a case",
            effect="means over several answers vary less",
        ),
    ),
    Option(
        "--bench-store",
        "DIR",
        "where answers are kept, so that none is paid twice; `none` keeps them for this run only. "
        "Default: the user's cache folder",
        setting="store",
        read=store,
        recorded="store",
        differs=ignore("stored answers are the same"),
        path=True,
    ),
    Option(
        "--bench-store-readonly",
        "DIR",
        "answers kept elsewhere, looked up after those of --bench-store. Repeatable",
        setting="readonly_stores",
        read=folders,
        recorded=None,
        differs=ignore("stored answers are the same"),
        repeat=True,
        path=True,
    ),
    Option(
        "--bench-replay",
        "",
        "answer from the stores only, ask no model",
        setting="replay",
        read=switch,
        recorded="replay",
        differs=ignore("stored answers are the same"),
        switch=True,
    ),
    Option(
        "--bench-plan",
        "",
        "say what a run would ask and cost and what its gates could see, and make no call",
        setting="plan",
        read=switch,
        recorded=None,
        differs=ignore("no run comes of it"),
        switch=True,
    ),
    Option(
        "--bench-max-cost",
        "USD",
        "stop asking when so much is spent; what is left has no answer (budget)",
        setting="max_cost",
        read=number(float, 0.0, "US dollars from 0"),
        recorded="max_cost_usd",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-sandbox-container",
        "IMAGE",
        "image of podman or docker, with python3, pandas and matplotlib, in which programs that "
        "models wrote are run. Default: the first way to shut them in that holds here",
        setting="sandbox_container",
        read=one_name("an image"),
        recorded="sandbox_container",
        differs=note("programs were run in another container", unset="none"),
    ),
    Option(
        "--bench-sandbox-unsafe-no-isolation",
        "",
        "where nothing shuts programs in, run them all the same: they can read, write and send "
        "whatever you can",
        setting="sandbox_unsafe",
        read=switch,
        recorded="sandbox_unsafe",
        differs=ignore("what a program draws is the same"),
        switch=True,
    ),
)
