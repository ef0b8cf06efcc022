"""Options that say what is made of the answers, and where it goes."""

from __future__ import annotations

from pytest_tablebench.config.options._option import Option, ignore, refuse
from pytest_tablebench.config.reading import (
    choice,
    existing_folder,
    folder,
    number,
    one_name,
    switch,
    switch_off,
    texts,
    thresholds,
)

RESULTS = (
    Option(
        "--bench-show",
        "N",
        "wrong answers, and cases without an answer, that the terminal shows in full. Default: all "
        "of up to 10; more are grouped by example",
        read=number(int, 0, "a whole number from 0"),
        recorded=None,
        differs=ignore("what is shown changes no answer"),
    ),
    Option(
        "--bench-gate",
        "EXPR",
        "what the run has to show, as in 'torr.performance >= 0.45', 'all.no_answer <= 0.01' or "
        "'finqa[html].pass_rate >= baseline - 0.05', on a slice or a part of the score: "
        "'realhit_fc{structure=merged}.em >= 0.5'; the exit code tells: 0 all gates hold, 10 one "
        "fails, 11 one is undecided. Repeatable. Against a baseline without a margin, equal models "
        "are undecided 95 times in 100",
        setting="gates",
        read=texts,
        differs=ignore("gates change no answer"),
        repeat=True,
    ),
    Option(
        "--bench-gate-point",
        "",
        "judge gates on the estimates alone, not on their intervals",
        read=switch,
        recorded=None,
        differs=ignore("gates change no answer"),
    ),
    Option(
        "--bench-baseline",
        "RUN",
        "run folder that this run is compared with",
        read=folder,
        differs=ignore("a comparison changes no answer"),
        path=True,
    ),
    Option(
        "--bench-allow-unlike",
        "",
        "compare with a baseline that differs in more than the model",
        read=switch,
        recorded=None,
        differs=ignore("a comparison changes no answer"),
    ),
    Option(
        "--bench-stop-when-decided",
        "RULE",
        "stop asking when every gate is decided: passes (looks after 1, 2, 4, 8 and 16 "
        "configurations of every example), anytime (example by example) or point (case by case, "
        "for --bench-gate-point). Default, without a rule: what fits the gates",
        setting="stop_rule",
        read=choice("auto", "passes", "anytime", "point"),
        differs=ignore("cases that were not asked are counted"),
        bare="auto",
    ),
    Option(
        "--bench-open",
        "yes|no",
        "whether the weights of the model are published, for the report on open and closed models. "
        "Default: by the model's name, where its family is known",
        setting="open_weights",
        read=choice("yes", "no"),
        differs=ignore("it groups models in reports"),
    ),
    Option(
        "--bench-no-page",
        "",
        "do not write report.html into the run folder",
        setting="page",
        read=switch_off,
        recorded=None,
        differs=ignore("reports change no answer"),
    ),
    Option(
        "--bench-allure",
        "MODE",
        "write Allure results into --alluredir or the run folder: all, wrong (what is not right) "
        "or summary. Default, without a mode: by the number of cases",
        read=choice("auto", "all", "wrong", "summary"),
        recorded=None,
        differs=ignore("reports change no answer"),
        bare="auto",
    ),
    Option(
        "--bench-snapshot",
        "",
        "compare each answer with the one in snapshots/; with --snapshot-update record it there",
        read=switch,
        recorded=None,
        differs=ignore("a comparison changes no answer"),
    ),
    Option(
        "--bench-snapshot-of",
        "NAME",
        "compare each answer with the snapshot of this model, such as an earlier version. Implies "
        "--bench-snapshot. Default: the model's own name",
        read=one_name("the name of a model"),
        recorded=None,
        differs=ignore("a comparison changes no answer"),
    ),
    Option(
        "--bench-snapshot-changes",
        "count|fail",
        "what a changed answer does: count counts and shows it, fail also fails its test and "
        "implies --bench-snapshot. Default: count",
        read=choice("count", "fail"),
        recorded=None,
        differs=ignore("a comparison changes no answer"),
    ),
    Option(
        "--bench-data",
        "DIR",
        "dataset folder. Default: the user's cache folder",
        read=existing_folder,
        differs=ignore("digests of its files are compared"),
        path=True,
    ),
    Option(
        "--bench-results",
        "DIR",
        "run folder. Default: tablebench-results/<time>-<model>",
        read=folder,
        recorded=None,
        differs=ignore("where a run lies changes no answer"),
        path=True,
    ),
    Option(
        "--bench-threshold",
        "DATASET=X",
        "score from which an answer of a dataset counts as right. Repeatable",
        setting="thresholds",
        read=thresholds,
        differs=refuse("other scores count as right"),
        repeat=True,
    ),
)
