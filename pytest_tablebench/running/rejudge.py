"""Judge the stored answers of a finished run again; only a new judge makes calls."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import COMPAT_MODES, Compat, check_compat
from pytest_tablebench.config.settings import Settings, kept_store
from pytest_tablebench.errors import ModelError, SettingsError, writing
from pytest_tablebench.models import refusal_lines
from pytest_tablebench.registry import Registry
from pytest_tablebench.results.corrected import corrected_cases, corrections_entry
from pytest_tablebench.results.folder import RunFolder, read_facts, read_records, recorded_text
from pytest_tablebench.results.judges import FLIP_COUNTS, Agreement, Flips, agreement_of, flips_of
from pytest_tablebench.results.labelled_cases import decided
from pytest_tablebench.results.labels import read_labels, write_labels
from pytest_tablebench.results.record import ASSERTION, Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import TEXTS, merge_media
from pytest_tablebench.running.asking import ModelClient
from pytest_tablebench.running.axes import check_names
from pytest_tablebench.running.builtins import registry_with
from pytest_tablebench.running.correcting import Correcting, CorrectionFile
from pytest_tablebench.running.pricing import AskPlan
from pytest_tablebench.running.replay import Opener, Replay, rescorable, step_of_judge, under
from pytest_tablebench.running.requests import of_metric
from pytest_tablebench.running.scorer import Scorer
from pytest_tablebench.util.names import counted


@dataclass(frozen=True)
class Rejudged:
    """A run under other rules.

    Attributes:
        run: the original folder with the new facts and records.
        scored: number of answers scored again.
        rescored: number of answers whose score changed.
        better, worse: number of verdicts that changed.
        ended: why the run ended early, so that gates decide only what the run decided; None for
            a whole run.
        plan: the requests to a new judge.
        agreement: between the new judge and the old one, by dataset.
        flips: the marks and verdicts that a new judge changed.
    """

    run: Run
    scored: int
    rescored: int
    better: int
    worse: int
    notes: tuple[str, ...]
    ended: str | None = None
    plan: AskPlan | None = None
    agreement: Mapping[str, Agreement] = field(default_factory=dict)
    flips: Flips | None = None


def rejudge(
    path: Path,
    *,
    compat: Compat | None = None,
    thresholds: Mapping[str, float] | None = None,
    data: Path | None = None,
    registry: Registry | None = None,
    plugins: Sequence[str] = (),
    judge: str | None = None,
    api_base: str | None = None,
    max_cost: float | None = None,
    ask: bool = False,
    corrections: Path | None = None,
) -> Rejudged:
    """Judge the stored answers of a run folder again, without writing anything.

    Arguments:
        path: the run folder.
        compat: the mode in which every raw reply is scored again (also the run's own mode, for
            example after an upgrade); None: keep the stored scores.
        thresholds: by dataset, from 0 to 1; they change verdicts only.
        data: the data folder; None: the run's. It must contain the data that the run used.
        registry: the parts; None: the built-in ones and `plugins`, see `registry_with`.
        plugins: files and modules with further parts.
        judge: a new judge, which marks all judged answers again; stored replies are used first.
        api_base: the address of the new judge; None: the default.
        max_cost: US dollars after which the new judge is not called any more.
        ask: make the calls to the new judge that are not stored. `Rejudged.plan` contains the
            first requests in any case.
        corrections: file with corrections of the gold, in place of the run's own; None keeps the
            run's scores by the corrected gold, unless the answers are scored again.

    Raises:
        SettingsError: the folder is not a run or has no record, a dataset is unknown, or a rule
            cannot be determined.
        DataMissing, DataError: the data is missing or is not the run's.
    """
    run, records = read_facts(path), list(read_records(path))
    data = data or Settings(data=None if run.data is None else Path(run.data)).data_folder()
    if not records:
        raise SettingsError(f"{path} has no recorded case, so there is nothing to judge")
    present = dict.fromkeys(record.dataset for record in records)
    if registry is None:
        registry = registry_with(None, plugins)
        if not registry.datasets.keys() >= present.keys():  # some datasets are folders
            registry = registry_with(data, plugins)
    new_thresholds = dict(thresholds or {})
    check_names("dataset", tuple(new_thresholds), present, "--bench-threshold")
    ended, notes = _cut_off(run, len(records))
    mode = compat or check_compat(str(run.compat or COMPAT_MODES[0]))
    opener = Opener(path, run, mode, data, registry)
    overlay: Correcting | None = None
    if corrections is not None:  # checked before a judge is called
        files = [CorrectionFile(corrections, corrections.name)]
        overlay = Correcting(files, Scorer(registry, compat=mode), opener.source, opener.seed)
        overlay.check(records)
    elif run.corrections and (judge is not None or compat is not None):
        notes.append(REMOVED)
    judged, plan, agreement, flips = list(records), None, {}, None
    if compat is not None or judge is not None:
        compat = mode
        client = judge_client(run, registry, judge, api_base=api_base, max_cost=max_cost)
        named = {*run.thresholds, *new_thresholds}
        by_new_judge = judge is not None
        replay = Replay(opener, client, judge or run.judge, by_new_judge=by_new_judge, named=named)
        for record in records:
            limit = _threshold(record, new_thresholds, registry)
            replay.records.append(replace(record, threshold=limit))
        try:
            if by_new_judge:
                [plan] = client.plans(replay.conversations())
                client.makes_calls = ask
            judged = replay.scored()
        except ModelError as error:
            raise SettingsError(f"--judge: {error}") from None
        finally:
            problems = [*client.close(), *refusal_lines(client.spent.left_out)]
        notes += [*opener.notes, *problems]
    judged = [under(record, new_thresholds.get(record.dataset)) for record in judged]
    if labels := read_labels(path):
        judged = decided(judged, labels)
    asserted = sum(
        record.metric == ASSERTION and (compat is not None or record.dataset in new_thresholds)
        for record in records
    )
    if asserted:
        keep = f"{counted(asserted, 'case')} {'keeps its' if asserted == 1 else 'keep their'}"
        notes.append(f"{keep} verdict: it comes from a test's own assertion")
    run_data = _run_data(path, run, compat, new_thresholds)
    if overlay is not None:
        judged = [overlay.corrected(replace(record, corrected=None)) for record in judged]
        cases, digest = corrected_cases(judged), overlay.corrections.digest
        run_data["corrections"] = corrections_entry(overlay.file_names, digest, cases)
    elif run.corrections and compat is not None:
        judged = [replace(record, corrected=None) for record in judged]
        run_data.pop("corrections", None)
    if plan is not None:
        agreement = agreement_of(records, judged)
        flips = flips_of(records, judged)
        run_data["rejudged"] |= {
            "judge": run.judge,
            "agreement": {name: asdict(figures) for name, figures in agreement.items()},
            "flips": {name: getattr(flips, name) for name in FLIP_COUNTS},
        }
        run_data |= {"judge": plan.model, **totals_with(run, records, judged)}
    pairs = list(zip(records, judged, strict=True))
    flipped = Counter((old.passed, new.passed) for old, new in pairs)
    return Rejudged(
        run=Run(path, RunFacts.from_json(run_data), new_records=judged),
        scored=sum(rescorable(record) for record in records) if compat is not None else 0,
        rescored=sum(
            old.score is not None and new.score is not None and abs(old.score - new.score) > 1e-9
            for old, new in pairs
        ),
        better=flipped[False, True],
        worse=flipped[True, False],
        notes=tuple(notes),
        ended=ended,
        plan=plan,
        agreement=agreement,
        flips=flips,
    )


REMOVED = (
    "the scores by the corrected gold are left out, since the answers were scored again: add "
    "--bench-corrections=FILE"
)
"""The note on a run that was scored again without its corrections."""


def write_rejudged(rejudged: Rejudged, summary: Mapping[str, Any], out: Path, **facts: Any) -> None:
    """Write a new run folder, with `facts` (such as the gates) in its run.json.

    Raises `SettingsError` if the folder contains a run or cannot be written.
    """
    run = rejudged.run
    with writing(f"cannot write into {out}", "; choose another folder"):
        folder = RunFolder(out)
        for record in run.records:
            folder.append(record.to_line())
        folder.close()
        with contextlib.suppress(FileNotFoundError):  # the run has no texts
            shutil.copyfile(run.path / TEXTS, out / TEXTS)
        merge_media([run.path], out)
        if run.labels:
            write_labels(out, run.labels)
        folder.write_summary(summary)
        folder.write_run({**run.facts.entries, **facts})


def _run_data(
    path: Path, run: RunFacts, compat: Compat | None, thresholds: Mapping[str, float]
) -> dict[str, Any]:
    version = metadata.version("pytest-tablebench")
    run_data = {key: value for key, value in run.entries.items() if key != "schema"}
    run_data["rejudged"] = {
        "origin": str(path),
        "compat": run.compat,
        "thresholds": dict(run.thresholds),
        "version": version,
    }
    if thresholds:
        run_data["thresholds"] = {**run.thresholds, **thresholds}
        run_data["by_dataset"] = {
            name: {**entry, **({"threshold": thresholds[name]} if name in thresholds else {})}
            for name, entry in run.by_dataset.items()
        }
    if compat is not None:
        # Scores now come from this version's metrics.
        run_data["compat"] = compat
        run_data["versions"] = {**run.versions, "pytest-tablebench": version}
    return run_data


def _cut_off(run: RunFacts, recorded: int) -> tuple[str | None, list[str]]:
    """Return why gates cannot decide, None if they can, and notes on missing cases."""
    planned = run.cases_planned
    of = recorded_text(recorded, planned)
    if run.cases_saved:
        why = "its own gates were decided"
        return why, [f"the run ended when {why}: {of}"]
    if run.ended is not None:
        why = "" if run.ended == "interrupted" else f"; {run.ended}"
        return run.ended, [f"the run was interrupted: {of}{why}"]
    if run.is_running:
        return "it was killed", [f"the run was interrupted: {of}"]
    if planned is not None and recorded < planned:
        return None, [of]
    return None, []


def _threshold(record: Record, thresholds: Mapping[str, float], registry: Registry) -> float | None:
    """Return the threshold of a record: the new one, else the record's own.

    A record of schema 1 may lack it. Then it is the dataset's, unless the verdict shows that a
    suite's marker had set another one.
    """
    threshold = thresholds.get(record.dataset, record.threshold)
    if threshold is not None or record.dataset not in registry.datasets:
        return threshold
    if record.score is None or not rescorable(record) or record.outcome == "scored":
        return None
    limit = registry.datasets[record.dataset].threshold
    if record.passed != (record.score >= limit):
        raise SettingsError(
            f"{record.dataset}: the run was not judged by the threshold {limit:g} (case "
            f"{record.case_id} has score {record.score:g} and "
            f"{'passed' if record.passed else 'failed'}); set its threshold with "
            f"--bench-threshold={record.dataset}=X"
        )
    return limit


def judge_client(
    run: RunFacts,
    registry: Registry,
    judge: str | None,
    *,
    api_base: str | None = None,
    max_cost: float | None = None,
) -> ModelClient:
    """Return what looks the replies of a judge up, and asks a new judge for the missing ones.

    Without a `judge` it is the run's own, whose stored replies only are used. `api_base` and
    `max_cost` apply to a new judge.
    """
    kept = kept_store(run.store)
    if judge is None:
        is_kept = kept is not None and (not isinstance(kept, Path) or kept.is_dir())
        settings = Settings(
            models=() if run.judge is None else (run.judge,),
            params=run.params,
            api_base=run.api_base,
            fresh=run.fresh,
            replay=True,
            store=kept if is_kept else None,
            stored=is_kept,
            reasoning_tokens=run.reasoning_tokens or 0,
            extend_cut=run.extend_cut,
        )
    else:
        settings = Settings(
            models=(judge,),
            params=run.params,
            api_base=api_base,
            max_cost=max_cost,
            store=kept,
            stored=run.store != "none",
        )
    params_of = {of_metric(name): params for name, params in run.judge_params.items()}
    return ModelClient(
        settings,
        registry,
        lambda subject: params_of.get(subject) or settings.request_params(judge=True),
    )


_SUMS = ("prompt_tokens", "completion_tokens", "cost_usd")


def totals_with(run: RunFacts, old: Iterable[Record], new: Iterable[Record]) -> dict[str, Any]:
    """Return the calls and costs of run.json with the new judge's in place of the old one's.

    A sum with an unknown part is None, as in any run.
    """
    before, after = _paid(old), _paid(new)
    calls = run.calls_paid
    totals: dict[str, Any] = {"calls_paid": _moved(calls, [len(before)], [len(after)])}
    for name in _SUMS:
        total = getattr(run, name) if calls else 0  # without a paid call its sums are unknown
        sides = ([step.get(name) for step in steps] for steps in (before, after))
        totals[name] = _moved(total, *sides)
    if not totals["calls_paid"]:
        totals |= dict.fromkeys(_SUMS)
    return totals


def _paid(records: Iterable[Record]) -> list[Mapping[str, Any]]:
    steps = (step for record in records for step in record.steps if step_of_judge(step))
    return [step for step in steps if not step.get("from_store")]


def _moved(total: Any, before: Sequence[Any], after: Sequence[Any]) -> Any:
    """Return a total with new values in place of old ones; None if any is unknown."""
    if not isinstance(total, int | float) or None in (*before, *after):
        return None
    return max(total - sum(before), 0) + sum(after)
