"""Options for model calls and for the store of their answers."""

from __future__ import annotations

from pytest_tablebench.config.options._option import Option, ignore, note, refuse
from pytest_tablebench.config.parameters import EFFORTS
from pytest_tablebench.config.reading import (
    NEW_NAME,
    address,
    age,
    choice,
    efforts,
    folder,
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
        "address of the model's server. Default: the provider's, as litellm knows it",
        read=address,
        differs=note("another server answered", unset="the provider's own", kind="parameter"),
        shown=True,
    ),
    Option(
        "--bench-param",
        "K=V",
        "parameter of every model call, as JSON or text. It overrides what a dataset declares. "
        "Repeatable",
        setting="params",
        read=params,
        differs=refuse("lengths and randomness of replies may differ", kind="parameter"),
        repeat=True,
        shown=True,
        by_dataset=True,
    ),
    Option(
        "--bench-context",
        "N",
        "the model's context length in tokens; `--bench-setting=treb` cuts prompts to it, and "
        "Ollama receives it as `num_ctx`. Default: the length in litellm's table; of "
        "Ollama, the model's own",
        read=number(int, 129, "a whole number from 129"),
        differs=note("prompts may be cut elsewhere", kind="parameter"),
    ),
    Option(
        "--bench-reasoning-tokens",
        "N",
        "tokens that a thinking model may use for thoughts, in addition to the limit of the answer "
        "(`max_tokens`). 0 for none. Default: 8192",
        read=number(int, 0, "a whole number from 0"),
        differs=note("replies of models that think may be cut off elsewhere", kind="parameter"),
    ),
    Option(
        "--bench-effort",
        "EFFORT,...",
        f"how much a model thinks: {', '.join(EFFORTS)} (sent as `reasoning_effort`), or tokens "
        "(sent as `thinking`). Several are an axis of the run. Default: the provider's",
        setting="efforts",
        read=efforts,
        recorded="effort",
        differs=refuse(
            "the model was asked to think more or less", unset="the provider's", kind="parameter"
        ),
    ),
    Option(
        "--bench-effort-margin",
        "X",
        "with several efforts: an effort is not worse than the highest if its score is lower by "
        "less than X. Default: 0.01",
        read=number(float, 0, "a number from 0 to 1", high=1),
        recorded=None,
        differs=ignore("it only judges"),
    ),
    Option(
        "--bench-extend-cut",
        "N",
        "ask again with N tokens if its limit cut a stored reply off; other cases keep their "
        "stored replies. Default: off",
        read=number(int, 1, "a whole number from 1"),
        differs=note(
            "replies that were cut off were requested again with more tokens", kind="parameter"
        ),
    ),
    Option(
        "--bench-connections",
        "N",
        "concurrent model calls of the whole run, whatever -n is. Default: 32",
        read=number(int, 1, "a whole number from 1"),
        differs=ignore("it changes only the speed"),
    ),
    Option(
        "--bench-callers",
        "N",
        "processes that make the calls. Default: one per 64 connections, up to the number of "
        "processors",
        read=number(int, 1, "a whole number from 1"),
        recorded=None,
        differs=ignore("it changes only the speed"),
        rare=True,
    ),
    Option(
        "--bench-executor",
        "NAME",
        "where calls are made: local (this machine), dask (workers of a cluster) or batch (the "
        "provider's batch service: cheaper, within a day; exit code 12 until all is answered). "
        "Default: local",
        read=choice("local", "dask", "batch"),
        differs=ignore("the requests are the same"),
        rare=True,
    ),
    Option(
        "--bench-scheduler",
        "ADDRESS",
        "address of the Dask scheduler (tcp://host:8786). Default: a cluster on this machine",
        read=one_name("the address of a scheduler"),
        recorded=None,
        differs=ignore("the answers are the same"),
        rare=True,
    ),
    Option(
        "--bench-score-there",
        "",
        "run models' programs and expensive metrics on the machines that make the calls",
        read=switch,
        recorded=None,
        differs=ignore("the scores are the same"),
        rare=True,
    ),
    Option(
        "--bench-transport",
        "WAY",
        "how calls are made: by litellm, direct (by this package, without litellm's import, for a "
        "tenth of the CPU), or auto (direct for providers that are tested to receive the same). "
        "Default: auto",
        read=choice("auto", "litellm", "direct"),
        differs=ignore("requests and replies are the same"),
        rare=True,
    ),
    Option(
        "--bench-timeout",
        "S",
        "time limit of a model call, in seconds. Default: 120",
        read=number(float, 0.001, "seconds above 0"),
        recorded="timeout_s",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-max-reply",
        "BYTES",
        "longest reply that is kept, at most 2000000 bytes. A longer reply is cut, and its record "
        "has the flag `cut`. Default: 1000000",
        read=number(int, 1000, "bytes from 1000 to 2000000", high=2_000_000),
        differs=ignore("replies that were cut are flagged"),
        rare=True,
    ),
    Option(
        "--bench-retries",
        "N",
        "retries after a temporary failure. Default: 5",
        read=number(int, 0, "a whole number from 0"),
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-patience",
        "S",
        "stop asking a provider that has answered no call for this many seconds, for instance "
        "because of too many requests. Default: 180",
        read=number(float, 0.001, "seconds above 0"),
        recorded="patience_s",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-repeats",
        "N",
        "ask each case N times, for pass@k and the spread of its scores. Default: 1",
        read=number(int, 1, "a whole number from 1"),
        differs=refuse(
            "the cases were asked a different number of times",
            unset="1",
            kind="selection",
        ),
    ),
    Option(
        "--bench-fresh",
        "NAME",
        "ask again even if answers are stored, and store the new ones under this name. The same "
        "name uses them again. Without a name: a new name for each run",
        read=generation,
        differs=ignore("such a comparison is about other answers of the model"),
        bare=NEW_NAME,
    ),
    Option(
        "--bench-max-age",
        "AGE",
        "ask again if a stored answer is older than this: 7d, 12h, 30m; 0: all of them. Default: "
        "answers of any age are used",
        read=age,
        recorded="max_age_s",
        differs=ignore("such a comparison is about other answers of the model"),
    ),
    Option(
        "--bench-store",
        "DIR",
        "store of answers, so that no answer is paid twice: a folder, or the address of a shared "
        "store (s3://bucket/answers); `none` keeps answers for this run only. Default: the user's "
        "cache folder",
        read=store,
        differs=ignore("stored answers are the same"),
        path=True,
    ),
    Option(
        "--bench-store-readonly",
        "DIR",
        "further store that is only read, after --bench-store: a folder or a shared store. "
        "Repeatable",
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
        "copy new answers from and to a shared store every S seconds. Default: 30",
        read=number(float, 1.0, "seconds from 1"),
        recorded=None,
        differs=ignore("stored answers are the same"),
        rare=True,
    ),
    Option(
        "--bench-replay",
        "",
        "use stored answers only; ask no model",
        read=switch,
        differs=ignore("stored answers are the same"),
    ),
    Option(
        "--bench-plan",
        "",
        "print what a run would ask and cost, and what its gates could detect; make no call",
        read=switch,
        recorded=None,
        differs=ignore("a plan is not a run"),
    ),
    Option(
        "--bench-plan-json",
        "FILE",
        "write the plan as JSON. Implies --bench-plan",
        read=folder,
        recorded=None,
        differs=ignore("a plan is not a run"),
        path=True,
    ),
    Option(
        "--bench-max-cost",
        "USD",
        "stop asking when this much is spent; the remaining cases have no answer (budget)",
        read=number(float, 0.0, "US dollars from 0"),
        recorded="max_cost_usd",
        differs=ignore("cases without an answer are counted"),
    ),
    Option(
        "--bench-sandbox-container",
        "IMAGE",
        "run models' programs in this image of podman or docker; it needs python3, pandas and "
        "matplotlib. Default: the first kind of sandbox that works on this machine",
        read=one_name("an image"),
        differs=note("programs were run in another container", unset="none"),
    ),
    Option(
        "--bench-sandbox-unsafe-no-isolation",
        "",
        "run models' programs without a sandbox if none works: they can read, write and send "
        "everything that you can",
        setting="sandbox_unsafe",
        read=switch,
        differs=ignore("what a program draws is the same"),
    ),
)
