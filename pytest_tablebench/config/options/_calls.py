"""Options that say how models are called, and where their answers are kept."""

from __future__ import annotations

from pytest_tablebench.config.options._option import Option, ignore, note, refuse
from pytest_tablebench.config.reading import (
    EFFORTS,
    address,
    choice,
    effort,
    generation,
    number,
    one_name,
    params,
    store,
    stores,
    switch,
)

CALLS = (
    Option(
        "--bench-api-base",
        "URL",
        "address of the model's server. Default: litellm's",
        read=address,
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
        "--bench-context",
        "N",
        "tokens of the model's context, to which `--bench-setting=treb` cuts prompts. Default: "
        "what litellm's table says",
        read=number(int, 129, "a whole number from 129"),
        differs=note("prompts may be cut elsewhere"),
    ),
    Option(
        "--bench-reasoning-tokens",
        "N",
        "tokens that a model which thinks may use for thinking, above the limit of the answer "
        "(`max_tokens`). 0: none. Default: 8192",
        read=number(int, 0, "a whole number from 0"),
        differs=note("replies of models that think may be cut off elsewhere"),
    ),
    Option(
        "--bench-effort",
        "EFFORT",
        f"how hard a model thinks: {', '.join(EFFORTS)}; sent as `reasoning_effort`. Default: the "
        "provider's",
        read=effort,
        differs=refuse("the model was told to think more or less", unset="the provider's"),
    ),
    Option(
        "--bench-extend-cut",
        "N",
        "ask again, with N tokens, what the stored replies were cut off of; all other cases keep "
        "their stored replies. Default: off",
        read=number(int, 1, "a whole number from 1"),
        differs=note("replies that were cut off were asked for again with more tokens"),
    ),
    Option(
        "--bench-connections",
        "N",
        "model calls in flight in the whole run, however many workers. Default: 32",
        read=number(int, 1, "a whole number from 1"),
        differs=ignore("speed alone"),
    ),
    Option(
        "--bench-callers",
        "N",
        "processes that make the calls. Default: one for each 64 connections, up to the processors",
        read=number(int, 1, "a whole number from 1"),
        recorded=None,
        differs=ignore("speed alone"),
    ),
    Option(
        "--bench-executor",
        "NAME",
        "where calls are made: local, from this machine; dask, by workers of a cluster; batch, by "
        "the provider's batch service, within a day and cheaper (exit code 12 until all is "
        "answered). Default: local",
        read=choice("local", "dask", "batch"),
        differs=ignore("the requests are the same"),
    ),
    Option(
        "--bench-scheduler",
        "ADDRESS",
        "Dask's scheduler, as in tcp://host:8786. Default: a cluster on this machine",
        read=one_name("the address of a scheduler"),
        recorded=None,
        differs=ignore("the answers are the same"),
    ),
    Option(
        "--bench-score-there",
        "",
        "run programs, such as those that draw charts to be compared, and heavy metrics where the "
        "calls are made",
        read=switch,
        recorded=None,
        differs=ignore("the scores are the same"),
    ),
    Option(
        "--bench-transport",
        "WAY",
        "how calls are sent: litellm, direct (litellm translates, we send; a tenth of the CPU), "
        "or auto: direct to the providers for which it is known to be the same. Default: auto",
        read=choice("auto", "litellm", "direct"),
        differs=ignore("the same is asked and read"),
    ),
    Option(
        "--bench-timeout",
        "S",
        "seconds a model call may take. Default: 120",
        read=number(float, 0.001, "seconds above 0"),
        recorded="timeout_s",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-max-reply",
        "BYTES",
        "what an answer keeps of a longer reply, up to 2000000; its record has the flag `cut`. "
        "Default: 1000000",
        read=number(int, 1000, "bytes from 1000 to 2000000", high=2_000_000),
        differs=ignore("replies that were cut are flagged"),
    ),
    Option(
        "--bench-retries",
        "N",
        "further attempts after a passing failure. Default: 5",
        read=number(int, 0, "a whole number from 0"),
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-patience",
        "S",
        "seconds for which a provider may answer nothing at all, too many requests say, until it "
        "is asked no more. Default: 180",
        read=number(float, 0.001, "seconds above 0"),
        recorded="patience_s",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-repeats",
        "N",
        "times each case is asked, for pass@k and spread. Default: 1",
        read=number(int, 1, "a whole number from 1"),
        differs=refuse(
            "the cases were asked another number of times",
            unset="1",
            values="repeats of a case",
            effect="means over several answers vary less",
        ),
    ),
    Option(
        "--bench-fresh",
        "NAME",
        "ask anew, even if answers are stored, and keep the new ones under this name beside them. "
        "The same name uses them again. Default, without a name: today's date",
        read=generation,
        differs=ignore("answers of another day are what such a comparison is about"),
        bare="today",
    ),
    Option(
        "--bench-store",
        "DIR",
        "where answers are kept, so that none is paid twice: a folder, or the address of a store "
        "that machines share (s3://bucket/answers); `none` keeps them for this run only. Default: "
        "the user's cache folder",
        read=store,
        differs=ignore("stored answers are the same"),
        path=True,
    ),
    Option(
        "--bench-store-readonly",
        "DIR",
        "answers kept elsewhere, in a folder or a shared store, looked up after those of "
        "--bench-store. Repeatable",
        setting="readonly_stores",
        read=stores,
        recorded=None,
        differs=ignore("stored answers are the same"),
        repeat=True,
        path=True,
    ),
    Option(
        "--bench-store-every",
        "S",
        "seconds between two looks at a shared store while a run is under way. Default: 30",
        read=number(float, 1.0, "seconds from 1 on"),
        recorded=None,
        differs=ignore("stored answers are the same"),
    ),
    Option(
        "--bench-replay",
        "",
        "answer from the stores only, ask no model",
        read=switch,
        differs=ignore("stored answers are the same"),
    ),
    Option(
        "--bench-plan",
        "",
        "say what a run would ask and cost and what its gates could see, and make no call",
        read=switch,
        recorded=None,
        differs=ignore("no run comes of it"),
    ),
    Option(
        "--bench-max-cost",
        "USD",
        "stop asking when so much is spent; what is left has no answer (budget)",
        read=number(float, 0.0, "US dollars from 0"),
        recorded="max_cost_usd",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-sandbox-container",
        "IMAGE",
        "image of podman or docker, with python3, pandas and matplotlib, in which programs that "
        "models wrote are run. Default: the first way to shut them in that holds here",
        read=one_name("an image"),
        differs=note("programs were run in another container", unset="none"),
    ),
    Option(
        "--bench-sandbox-unsafe-no-isolation",
        "",
        "where nothing shuts programs in, run them all the same: they can read, write and send "
        "whatever you can",
        setting="sandbox_unsafe",
        read=switch,
        differs=ignore("what a program draws is the same"),
    ),
)
