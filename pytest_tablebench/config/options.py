"""Every option of the plugin, with the ini key of the same name."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_MODEL", "OPTIONS", "Option"]

DEFAULT_MODEL = "tablebench/lexical"


@dataclass(frozen=True)
class Option:
    """A command line option and the ini key of the same name (dashes become underscores)."""

    flag: str
    metavar: str
    help: str
    repeat: bool = False
    switch: bool = False
    bare: str | None = None
    """What the option means without a value; None where it needs one."""
    path: bool = False
    """Whether it names a folder: on the command line from where pytest starts, in an ini file
    from where that lies."""

    @property
    def key(self) -> str:
        """The ini key, and the attribute the command line parser stores under."""
        return self.flag.lstrip("-").replace("-", "_")


OPTIONS = (
    Option(
        "--bench-model",
        "NAME",
        "model to measure; tablebench/... are built in, every other name goes to litellm "
        f"unchanged (gpt-4o, ollama/llama3.2, ...). Repeatable. Default: {DEFAULT_MODEL}",
        repeat=True,
    ),
    Option("--bench-dataset", "A,B", "datasets to run. Default: all that are there", repeat=True),
    Option("--bench-serializer", "A,B", "table formats. Default: ToRR's seven", repeat=True),
    Option("--bench-perturbation", "A,B", "perturbations. Default: ToRR's five", repeat=True),
    Option(
        "--bench-strategy",
        "A,B",
        "how a model is asked: direct, or a registered strategy. Default: the dataset's, direct",
        repeat=True,
    ),
    Option(
        "--bench-modality",
        "A,B",
        "how tables are shown: text, image or image_text; the last two take a serializer that "
        "gives pictures. Default: what each serializer gives, text",
        repeat=True,
    ),
    Option(
        "--bench-judge",
        "NAME",
        "model that judges, where a metric asks one; it has the parameters and the address of the "
        "model under test. Default: none, judged scores are absent and counted",
    ),
    Option(
        "--bench-limit",
        "N",
        "examples per dataset, the first ones, or all. Default: the dataset's, ToRR's 100",
    ),
    Option(
        "--bench-sample",
        "N",
        "draw N examples per dataset in place of the first, spread over its kinds of questions and "
        "its tables; --bench-seed draws others",
    ),
    Option("--bench-shots", "K", "demonstrations in a prompt. Default: the dataset's"),
    Option(
        "--bench-demos",
        "MODE",
        "perturbed (drawn anew for each perturbation, as in the published code) or fixed (the "
        "same demonstrations in all configurations of an example). Default: perturbed",
    ),
    Option(
        "--bench-configs-per-example",
        "K",
        "draw K of the formats x perturbations for each example. Default: all",
    ),
    Option("--bench-seed", "N", "seed of demonstrations and perturbations. Default: 0"),
    Option(
        "--bench-compat",
        "MODE",
        "fixed (corrected metrics and prompts) or reference (the published code's). Default: fixed",
    ),
    Option("--bench-api-base", "URL", "address of the model's server. Default: litellm's"),
    Option(
        "--bench-param",
        "K=V",
        "parameter of every model call, as JSON or text. Repeatable",
        repeat=True,
    ),
    Option(
        "--bench-connections",
        "N",
        "model calls in flight in the whole run, however many workers. Default: 32",
    ),
    Option("--bench-timeout", "S", "seconds a model call may take. Default: 120"),
    Option(
        "--bench-max-reply",
        "BYTES",
        "what an answer keeps of a longer reply, up to 2000000; its record has the flag `cut`. "
        "Default: 1000000",
    ),
    Option("--bench-retries", "N", "further attempts after a passing failure. Default: 5"),
    Option(
        "--bench-patience",
        "S",
        "seconds for which a provider may answer nothing at all, too many requests say, until it "
        "is asked no more. Default: 180",
    ),
    Option("--bench-repeats", "N", "times each case is asked, for pass@k and spread. Default: 1"),
    Option(
        "--bench-store",
        "DIR",
        "where answers are kept, so that none is paid twice; `none` keeps them for this run only. "
        "Default: the user's cache folder",
        path=True,
    ),
    Option(
        "--bench-store-readonly",
        "DIR",
        "answers kept elsewhere, looked up after those of --bench-store. Repeatable",
        repeat=True,
        path=True,
    ),
    Option("--bench-replay", "", "answer from the stores only, ask no model", switch=True),
    Option(
        "--bench-plan",
        "",
        "say what a run would ask and cost and what its gates could see, and make no call",
        switch=True,
    ),
    Option(
        "--bench-max-cost",
        "USD",
        "stop asking when so much is spent; what is left has no answer (budget)",
    ),
    Option(
        "--bench-gate",
        "EXPR",
        "what the run has to show, as in 'torr.performance >= 0.45', 'all.no_answer <= 0.01' or "
        "'finqa[html].pass_rate >= baseline - 0.05'; the exit code tells: 0 all gates hold, 10 one "
        "fails, 11 one is undecided. Repeatable. Against a baseline without a margin, equal models "
        "are undecided 95 times in 100",
        repeat=True,
    ),
    Option(
        "--bench-gate-point",
        "",
        "judge gates on the estimates alone, not on their intervals",
        switch=True,
    ),
    Option("--bench-baseline", "RUN", "run folder that this run is compared with", path=True),
    Option(
        "--bench-allow-unlike",
        "",
        "compare with a baseline that differs in more than the model",
        switch=True,
    ),
    Option(
        "--bench-stop-when-decided",
        "RULE",
        "stop asking when every gate is decided: passes (looks after 1, 2, 4, 8 and 16 "
        "configurations of every example), anytime (example by example) or point (case by case, "
        "for --bench-gate-point). Default, without a rule: what fits the gates",
        bare="auto",
    ),
    Option("--bench-no-page", "", "do not write report.html into the run folder", switch=True),
    Option(
        "--bench-allure",
        "MODE",
        "write Allure results into --alluredir or the run folder: all, wrong (what is not right) "
        "or summary. Default, without a mode: by the number of cases",
        bare="auto",
    ),
    Option(
        "--bench-snapshot",
        "",
        "compare each answer with the one in snapshots/; with --snapshot-update record it there",
        switch=True,
    ),
    Option("--bench-data", "DIR", "dataset folder. Default: the user's cache folder", path=True),
    Option(
        "--bench-results",
        "DIR",
        "run folder. Default: tablebench-results/<time>-<model>",
        path=True,
    ),
    Option(
        "--bench-threshold",
        "DATASET=X",
        "score from which an answer of a dataset counts as right. Repeatable",
        repeat=True,
    ),
)
