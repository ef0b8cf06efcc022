"""Options for verdicts, reports and folders."""

from __future__ import annotations

from pytest_tablebench.config.options._option import Option, ignore, refuse
from pytest_tablebench.config.reading import (
    choice,
    existing_file,
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
        "show N wrong answers and N cases without an answer in full. Default: all if there are at "
        "most 10; otherwise they are grouped by example",
        read=number(int, 0, "a whole number from 0"),
        recorded=None,
        differs=ignore("the output changes no answer"),
    ),
    Option(
        "--bench-gate",
        "EXPR",
        "a claim about the run: 'torr.performance >= 0.45', 'all.no_answer <= 0.01', "
        "'finqa[html].pass_rate >= baseline - 0.05', or about a slice or a part of the score: "
        "'realhit_fc{structure=merged}.em >= 0.5'. Exit code: 0 all gates hold, 10 one fails, 11 "
        "one is undecided. Repeatable. Against a baseline without a margin, equal models are "
        "undecided 95 times in 100",
        setting="gates",
        read=texts,
        differs=ignore("gates change no answer"),
        repeat=True,
    ),
    Option(
        "--bench-gate-point",
        "",
        "judge gates by the estimates, without intervals",
        read=switch,
        recorded=None,
        differs=ignore("gates change no answer"),
    ),
    Option(
        "--bench-labels",
        "PATH",
        "labels by people to take into the run: a run folder with labels, or a labels.jsonl. Only "
        "labels of the same answers count. Default: none",
        read=folder,
        recorded=None,
        differs=ignore("labels change no answer"),
        path=True,
    ),
    Option(
        "--bench-judge-uncalibrated",
        "",
        "let gates take the marks of a judge as they are. Without it such a gate is undecided "
        "unless labels by people correct it",
        read=switch,
        recorded=None,
        differs=ignore("gates change no answer"),
    ),
    Option(
        "--bench-baseline",
        "RUN",
        "run folder to compare this run with",
        read=folder,
        differs=ignore("a comparison changes no answer"),
        path=True,
    ),
    Option(
        "--bench-allow-unlike",
        "",
        "compare even if the baseline differs in more than the model",
        read=switch,
        recorded=None,
        differs=ignore("a comparison changes no answer"),
    ),
    Option(
        "--bench-different-judges",
        "",
        "compare even if another judge, or the same with other parameters or prompts, marked the "
        "answers of the baseline",
        read=switch,
        recorded=None,
        differs=ignore("a comparison changes no answer"),
    ),
    Option(
        "--bench-stop-when-decided",
        "RULE",
        "stop asking when every gate is decided. The rule `passes`, which needs no name, asks "
        "every example once in each pass, and looks after 1, 2, 4, 8 and 16 passes",
        setting="stop_rule",
        read=choice("passes"),
        differs=ignore("cases that were not asked are counted"),
        bare="passes",
    ),
    Option(
        "--bench-open",
        "yes|no",
        "whether the model's weights are published, for reports on open and closed models. "
        "Default: by the model's name, if its family is known",
        setting="open_weights",
        read=choice("yes", "no"),
        differs=ignore("it groups models in reports"),
        rare=True,
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
        "write Allure results into --alluredir or the run folder: all, wrong (cases that are not "
        "right) or summary. Without a mode: by the number of cases",
        read=choice("auto", "all", "wrong", "summary"),
        recorded=None,
        differs=ignore("reports change no answer"),
        bare="auto",
    ),
    Option(
        "--bench-snapshot",
        "",
        "compare each answer with its snapshot in snapshots/; --snapshot-update records it",
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
        "for a changed answer: count (show and count it) or fail (also fail its test; implies "
        "--bench-snapshot). Default: count",
        read=choice("count", "fail"),
        recorded=None,
        differs=ignore("a comparison changes no answer"),
    ),
    Option(
        "--bench-data",
        "DIR",
        "folder with the datasets' files. Default: the user's cache folder",
        read=existing_folder,
        differs=ignore("the digests of its files are compared"),
        path=True,
    ),
    Option(
        "--bench-corrections",
        "FILE",
        "CSV file with verdicts of people on gold answers. The published gold still decides "
        "scores, verdicts and figures; reports also show the figures by the corrected gold. A gate "
        "can use them: 'wikitq@corrected.performance >= 0.5'",
        read=existing_file,
        recorded=None,
        differs=ignore("scores are by the published gold; comparisons check the corrections"),
        path=True,
    ),
    Option(
        "--bench-results",
        "DIR",
        "folder that the run is written to. Default: tablebench-results/<time>-<model>",
        read=folder,
        recorded=None,
        differs=ignore("its folder changes no answer"),
        path=True,
    ),
    Option(
        "--bench-threshold",
        "DATASET=X",
        "lowest score of a right answer of a dataset. Repeatable",
        setting="thresholds",
        read=thresholds,
        differs=refuse("other scores count as right"),
        repeat=True,
    ),
)
