"""Options that select what a run measures: models, datasets, the grid, examples, prompts."""

from __future__ import annotations

import math

from pytest_tablebench.config.options._option import Option, ignore, note, refuse
from pytest_tablebench.config.papers import paper_setting, printed_prompts
from pytest_tablebench.config.reading import (
    choice,
    compat,
    known_names,
    limit,
    names,
    number,
    one_name,
    shard,
    shots,
    switch,
    texts,
)

DEFAULT_MODEL = "tablebench/lexical"
MODALITIES = ("text", "image", "image_text")

SELECTION = (
    Option(
        "--bench-model",
        "NAME",
        "model to measure. tablebench/... are built in; every other name goes to litellm unchanged "
        f"(gpt-4o, ollama/llama3.2, ...). Repeatable. Default: {DEFAULT_MODEL}",
        setting="models",
        read=texts,
        recorded="model",
        differs=note("models are what is compared", kind="model"),
        repeat=True,
        of_one_run=True,
    ),
    Option(
        "--bench-dataset",
        "A,B",
        "datasets to run. Default: all whose files are installed",
        setting="datasets",
        read=names,
        differs=ignore("only those of both runs are compared"),
        repeat=True,
    ),
    Option(
        "--bench-setting",
        "NAME",
        "ask the datasets of a benchmark as its paper does: torr (Table 2: seven serializers, five "
        "perturbations, 5 demonstrations, WikiTQ 1, 100 examples), realhitbench or treb. Other "
        "options take precedence over it. Default: none",
        read=paper_setting,
        differs=ignore("each value that it sets is compared"),
        shown=True,
    ),
    Option(
        "--bench-serializer",
        "A,B",
        "serializers, which write the tables. Default: the dataset's; for ToRR seven",
        setting="serializers",
        read=names,
        recorded="grid.serializers",
        differs=refuse("other configurations; robustness above all depends on them", kind="prompt"),
        repeat=True,
        by_dataset=True,
    ),
    Option(
        "--bench-perturbation",
        "A,B",
        "perturbations, which change the tables. Default: the dataset's; for ToRR five",
        setting="perturbations",
        read=names,
        recorded="grid.perturbations",
        differs=refuse("other configurations; robustness above all depends on them", kind="prompt"),
        repeat=True,
        by_dataset=True,
    ),
    Option(
        "--bench-compat",
        "MODE",
        "fixed (corrected metrics and prompts) or reference (the published code's). Default: fixed",
        read=compat,
        differs=refuse("other metrics and prompts", kind="prompt"),
        shown=True,
    ),
    Option(
        "--bench-strategy",
        "A,B",
        "strategies: direct, tcot, pot, icot, treethinker, tools, or a registered one, with "
        "parameters in brackets. Default: the dataset's, mostly direct",
        setting="strategies",
        read=names,
        recorded="strategy",
        differs=refuse("the model was asked in another way", kind="prompt"),
        repeat=True,
        shown=True,
        by_dataset=True,
    ),
    Option(
        "--bench-turns",
        "N",
        "replies in a conversation with tools, at most. Default: 8",
        read=number(int, 1, "a whole number from 1"),
        differs=refuse("the model had another number of turns", unset="8", kind="prompt"),
    ),
    Option(
        "--bench-modality",
        "A,B",
        "how tables are shown: text, image (a picture instead of text) or image_text (both). "
        "Default: the dataset's, or what each serializer writes",
        setting="modalities",
        read=known_names("modality", MODALITIES),
        recorded="modality",
        differs=refuse("the tables were shown in another way", kind="prompt"),
        repeat=True,
        shown=True,
        by_dataset=True,
    ),
    Option(
        "--bench-judge",
        "NAME",
        "model that judges answers for metrics that need a judge. It gets the parameters and the "
        "address of the model under test. Default: none; judged scores are missing and counted",
        read=one_name("the name of a model"),
        differs=refuse("another model judged the answers", unset="none", kind="judge"),
    ),
    Option(
        "--bench-meteor",
        "",
        "also score the texts of numericnlg, scigen and qtsumm by METEOR, as the part `meteor`; it "
        "needs nltk's WordNet data",
        read=switch,
        differs=ignore("METEOR is an additional part of the score"),
        rare=True,
    ),
    Option(
        "--bench-structure",
        "MODE",
        "what the answer about a rearranged table must equal: self (the model's answer about the "
        "original table), gold, or both (both answers equal gold). Default: both",
        read=choice("self", "gold", "both"),
        differs=refuse(
            "answers about rearranged tables were compared with different things", kind="prompt"
        ),
        rare=True,
    ),
    Option(
        "--bench-format-retries",
        "N",
        "how often to ask again if a reply lacks the answer form that the dataset requires. "
        "Default: 0",
        read=number(int, 0, "a whole number from 0"),
        differs=refuse(
            "one of them asked again for replies without the answer form", kind="prompt"
        ),
        rare=True,
    ),
    Option(
        "--bench-prompts",
        "DIR",
        "folder with the prompts that the papers of RealHiTBench and TReB print, one text file "
        "each; they replace this package's prompts. Default: none",
        read=printed_prompts,
        path=True,
        differs=refuse("the prompts have other words", unset="this package's", kind="prompt"),
        shown=True,
    ),
    Option(
        "--bench-limit",
        "N",
        "take the first N examples of each dataset, or all. Default: the dataset's; for ToRR 100",
        read=limit,
        differs=note("other numbers of examples", unset="the dataset's own", kind="selection"),
        shown=True,
        by_dataset=True,
        of_one_run=True,
    ),
    Option(
        "--bench-sample",
        "N",
        "draw N examples of each dataset, spread over its kinds of questions and its tables, "
        "instead of the first ones; another --bench-seed draws others",
        read=number(int, 1, "a whole number from 1"),
        differs=note("other examples were drawn", unset="none", kind="selection"),
        shown=True,
        of_one_run=True,
    ),
    Option(
        "--bench-shard",
        "I/N",
        "run only part I of N of the cases, split by table, the same on every machine. `tablebench "
        "merge` joins the parts and judges the gates",
        read=shard,
        differs=note("other parts of the cases", unset="all", kind="selection"),
        shown=True,
    ),
    Option(
        "--bench-shots",
        "K",
        "demonstrations in a prompt, for all datasets (5), or for one and then for the rest "
        "(wikitq=1,5). Default: the dataset's",
        read=shots,
        differs=refuse("other numbers of demonstrations", unset="the dataset's own", kind="prompt"),
        shown=True,
        by_dataset=True,
    ),
    Option(
        "--bench-small-pool",
        "MODE",
        "if a dataset has fewer demonstrations than a prompt should show: fewer (use those) or "
        "skip (leave the dataset out). The header names the dataset. Default: fewer",
        read=choice("fewer", "skip"),
        differs=ignore("only common datasets count; run.json has the number that each showed"),
        rare=True,
    ),
    Option(
        "--bench-demos",
        "MODE",
        "demonstrations: perturbed (drawn for each perturbation, as in the published code) or "
        "fixed (the same in all configurations of an example). Default: perturbed",
        read=choice("perturbed", "fixed"),
        differs=refuse("demonstrations were drawn in another way", kind="prompt"),
        shown=True,
        rare=True,
    ),
    Option(
        "--bench-configs-per-example",
        "K",
        "draw K of the serializer x perturbation configurations for each example. Default: all",
        read=number(int, 1, "a whole number from 1"),
        differs=refuse(
            "other configurations were asked",
            unset="all",
            kind="selection",
        ),
    ),
    Option(
        "--bench-seed",
        "N",
        "seed for demonstrations, perturbations and samples. Default: 0",
        read=number(int, -math.inf, "a whole number"),
        differs=refuse("demonstrations and perturbations were drawn differently"),
        shown=True,
    ),
)
