"""The broker on a Dask cluster of a scheduler and two workers in separate processes."""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import pickle
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings, read_settings
from pytest_tablebench.errors import METRIC, ModelError, SettingsError
from pytest_tablebench.executors import Work
from pytest_tablebench.executors.dask import broker
from pytest_tablebench.executors.local import Engine, Lane
from pytest_tablebench.executors.local._local_work import grade_body
from pytest_tablebench.executors.local.providers import reference_of
from pytest_tablebench.metrics.steps import Execute, Execution, Grade
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.running._lookup import PROGRAMS
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.store import Store
from tests.support import broker_site
from tests.support.broker_site import Asker, request
from tests.support.dask_site import WORKERS_KEY, DaskSite
from tests.support.faults import comparable
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.plain_model import Plain
from tests.support.runs import KEY, run_pytest, until

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")

CONNECTIONS = 6

come = partial(broker_site.come, seconds=120)
"""First the processes have to import Dask."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskSite]:
    made = DaskSite(tmp_path_factory.mktemp("dask"))
    yield made
    made.close()


class Watched:
    """Counts the calls of each question, and holds marked ones."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.by_process: Counter[str] = Counter()
        self.opened = threading.Event()

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        question = body["messages"][0]["content"]
        self.asked[question] += 1
        self.by_process[body["user"]] += 1
        return text(question.upper(), after=self.opened if "held" in question else None)

    def held(self) -> int:
        """Return the number of held calls so far."""
        return sum(count for question, count in self.asked.items() if "held" in question)


@contextlib.contextmanager
def engine(site: DaskSite, server: OpenAIServer, store: Path, **more: Any) -> Iterator[Engine]:
    options = {"scheduler": site.address, **more}
    settings = Settings(
        models=("plain/m",),
        api_base=server.url,
        connections=CONNECTIONS,
        store=store,
        executor="dask",
        **options,
    )
    lane = Lane("plain/m", None, "plain", vars(reference_of(Plain)))
    made = Engine(settings, [lane])
    try:
        yield made
    finally:
        made.finish()
        made.reap()


@contextlib.contextmanager
def client(running: Engine) -> Iterator[Asker]:
    made = Asker(running.address, "runner", ["plain/m"])
    try:
        yield made
    finally:
        made.close()


def ask(asker: Asker, *questions: str) -> None:
    for question in questions:
        to_send = request(question)
        asker.ask(to_send.key(), to_send)
    asker.look()  # sends them


def texts(outcomes: dict[str, Any]) -> set[str]:
    assert all(isinstance(reply, Reply) for reply in outcomes.values()), outcomes
    return {reply.text for reply in outcomes.values()}


def stored(folder: Path, *questions: str) -> list[bool]:
    with Store.open(folder, write=False) as store:
        return [request(question).key() in store for question in questions]


def questions(kind: str, number: int) -> list[str]:
    return [f"{kind} {place}" for place in range(number)]


def test_workers_make_each_call_once_within_the_connection_limit(
    site: DaskSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    watched, texts_to_ask = Watched(), questions("held", CONNECTIONS) + questions("free", 20)
    with (
        OpenAIServer(watched) as server,
        engine(site, server, tmp_path / "answers") as running,
        client(running) as first,
        client(running) as other,
    ):
        for turn in range(10_000):  # until both workers are ready
            ask(first, f"first {turn}", f"second {turn}")
            come(first, 2)
            if len(watched.by_process) == 2:
                break
        watched.asked.clear()
        for asker in (first, other):
            ask(asker, *texts_to_ask)
        until(lambda: watched.held() == CONNECTIONS, "all connections in use")
        watched.opened.set()
        for asker in (first, other):
            assert texts(come(asker, len(texts_to_ask))) == {
                question.upper() for question in texts_to_ask
            }
        totals = running.executor.finish()
    assert set(watched.asked.values()) == {1}
    assert server.max_in_flight == CONNECTIONS
    assert len(watched.by_process) == 2
    assert totals is not None
    assert totals["models"]["plain/m"]["calls_paid"] == len(texts_to_ask) + 2 * (turn + 1)
    assert all(stored(tmp_path / "answers", *texts_to_ask))
    # Workers use their own key and never receive the client's.
    sent = {received.headers["Authorization"] for received in server.requests}
    assert sent == {f"Bearer {WORKERS_KEY}"}
    assert KEY not in site.log.read_text(encoding="utf-8", errors="replace")


def test_calls_of_a_killed_worker_are_repeated_by_others(site: DaskSite, tmp_path: Path) -> None:
    watched = Watched()
    with (
        OpenAIServer(watched) as server,
        engine(site, server, tmp_path / "answers", retries=0) as running,
        client(running) as asker,
    ):
        ask(asker, *questions("free", 20))
        come(asker, 20)
        ask(asker, *questions("held", CONNECTIONS))
        until(lambda: watched.held() == CONNECTIONS, "all connections in use")
        site.kill_worker()
        until(lambda: watched.held() > CONNECTIONS, "calls given to the other worker", seconds=120)
        watched.opened.set()
        come(asker, CONNECTIONS)
        totals = running.executor.finish()
    site.start_worker()
    assert totals is not None
    assert totals["models"]["plain/m"]["retries"] == 0
    assert all(watched.asked[question] == 1 for question in questions("free", 20))
    assert watched.held() < 2 * CONNECTIONS


def test_a_run_continues_after_the_scheduler_restarts(site: DaskSite, tmp_path: Path) -> None:
    watched = Watched()
    with (
        OpenAIServer(watched) as server,
        engine(site, server, tmp_path / "answers") as running,
        client(running) as asker,
    ):
        ask(asker, *questions("free", 20))
        come(asker, 20)
        held, more = questions("held", CONNECTIONS), questions("more", 20)
        ask(asker, *held)
        until(lambda: watched.held() == CONNECTIONS, "all connections in use")
        site.close()
        ask(asker, *more)
        watched.opened.set()  # the callers finish their calls without a scheduler
        until(lambda: all(stored(tmp_path / "answers", *held)), "all answers stored")
        site.start()
        expected = {question.upper() for question in (*held, *more)}
        assert texts(come(asker, len(expected))) == expected
    assert set(watched.asked.values()) == {1}
    assert all(stored(tmp_path / "answers", *questions("free", 20), *more))


def test_answers_for_a_killed_client_are_stored(site: DaskSite, tmp_path: Path) -> None:
    watched, texts_to_ask = Watched(), questions("held", CONNECTIONS)
    with OpenAIServer(watched) as server:
        with engine(site, server, tmp_path / "answers") as running, client(running) as asker:
            ask(asker, *texts_to_ask)
            until(lambda: watched.held() == CONNECTIONS, "all connections in use")
            psutil.Process(running._process.pid).kill()
            watched.opened.set()
            until(lambda: all(stored(tmp_path / "answers", *texts_to_ask)), "all answers stored")
        with engine(site, server, tmp_path / "answers") as running, client(running) as asker:
            ask(asker, *texts_to_ask)
            assert all(reply.from_store for reply in come(asker, CONNECTIONS).values())  # type: ignore[union-attr]
    assert set(watched.asked.values()) == {1}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_workers_without_the_folders_of_the_client_receive_pictures_and_return_answers(
    site: DaskSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Path("/proc/self/cwd/answers")  # another folder for each process
    picture = Image("image/png", b"drawn")
    shown = Request("openai/m", (Message("user", ("See this:", picture)),), {"temperature": 0})
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / picture.file_name).write_bytes(picture.data)
    with (
        OpenAIServer() as server,
        engine(site, server, store) as running,
        client(running) as asker,
    ):
        ask(asker, *questions("free", 5))
        come(asker, 5)
        for repeat in range(2):  # the second time the worker has the picture
            again = replace(shown, repeat=repeat)
            asker.ask(again.key(), again, media=Path("/proc/self/cwd/media"))
            come(asker)
    sent = [json.dumps(received.body) for received in server.requests[-2:]]
    assert all(base64.b64encode(picture.data).decode() in body for body in sent)
    assert all(stored(tmp_path / "answers", *questions("free", 5)))
    assert not (site.folder / "answers").exists()


def test_a_missing_scheduler_is_reported_with_the_option(site: DaskSite, tmp_path: Path) -> None:
    with (
        OpenAIServer() as server,
        engine(site, server, tmp_path, scheduler="tcp://127.0.0.1:9", patience=0.5) as running,
        client(running) as asker,
    ):
        ask(asker, "anybody?")
        (outcome,) = come(asker).values()
    assert isinstance(outcome, ModelError)
    assert str(outcome).startswith(
        "no Dask worker was ready within 0.5 s (--bench-patience): the scheduler cannot be reached"
    )


SCORED = """
import sys
from pathlib import Path

from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.metrics import Score

def close(prediction, references, **_):
    with Path(__file__).with_name("scored").open("a") as file:
        file.write(Path(sys.argv[0]).name + "\\n")
    if "6" in prediction:
        raise ValueError("six")
    return Score(len(references[0]) / (len(prediction) + 7) / 3, {"third": 1 / 3}, flags=("odd",))

close.heavy = True

def pytest_tablebench_register_metric(register):
    register("close", close)

def pytest_tablebench_register_dataset(register):
    for metric in ("close", "rouge", "exact_match"):
        asked = [
            table_question(str(n), Table(["A"], [[n]]), f"{metric} {n}?", ["one tern and a wren"])
            for n in range(7)
        ]
        register(TableQuestions(metric, asked, metric=metric))
"""

SUITE = "import pytest" + "".join(
    f'''

@pytest.mark.tablebench("{metric}")
def test_{metric}(case, answer):
    pass
'''
    for metric in ("close", "rouge", "exact_match")
)


def test_a_run_on_dask_gives_the_records_of_a_local_run(site: DaskSite, tmp_path: Path) -> None:
    def reply_to(body: dict[str, Any]) -> Behaviour:
        number = re.findall(r"(\d)\?", body["messages"][-1]["content"])[-1]
        thoughts = "<think>\nOne tern and a wren.\n</think>\n\n" * (int(number) % 2)
        return text(f"{thoughts}a wren, {'one ' * int(number)} tern {number}")

    on_dask = ("--bench-executor=dask", f"--bench-scheduler={site.address}", "--bench-score-there")
    runs = {}
    with OpenAIServer(reply_to) as server:
        for name, more in {"there": on_dask, "here": ()}.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "conftest.py").write_text(SCORED)
            run = run_pytest(tmp_path / name, server, *more, model="plain/m", count=7, suite=SUITE)
            assert run.exit_code == 1, run.output  # a metric cannot score one of the answers
            runs[name] = run
    assert comparable(runs["there"].records) == comparable(runs["here"].records)
    assert runs["there"].facts["calls_paid"] == runs["here"].facts["calls_paid"] == 21
    by_metric = {record.metric for record in runs["there"].records.values()}
    assert by_metric == {"close", "rouge", "exact_match", None}
    (unscored,) = [
        record for record in runs["there"].records.values() if record.outcome == "no_answer"
    ]
    assert (unscored.case_id[:8], unscored.reason) == ("close/6/", "metric_error")
    thinking = [record for record in runs["there"].records.values() if "<think>" in str(record.raw)]
    assert len(thinking) == 3 * 3
    assert not any("think" in str(record.prediction) for record in thinking)
    for name, where in {"there": "scorer.py", "here": "__main__.py"}.items():
        assert set((tmp_path / name / "scored").read_text().split()) == {where}


def test_a_metric_that_is_missing_or_differs_at_a_worker_is_reported(
    site: DaskSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def {0}(prediction, references, **_):\n    raise SystemExit\n"
    monkeypatch.syspath_prepend(tmp_path)
    names = ("lacking_metric", "changed_metric", "ending_metric")
    for name in names:
        (tmp_path / f"{name}.py").write_text(source.format(name))
    functions = {name: getattr(importlib.import_module(name), name) for name in names}
    arguments = pickle.dumps(("a", ["b"], {}))
    grades = [Grade(name, function, "fixed", arguments) for name, function in functions.items()]
    for grade in grades:
        grade_body(grade)  # this side reads its source once
    (tmp_path / "lacking_metric.py").unlink()
    (tmp_path / "changed_metric.py").write_text(source.format("changed_metric") + "# since\n")
    with (
        OpenAIServer() as server,
        engine(site, server, tmp_path / "answers", score_there=True) as running,
        client(running) as asker,
    ):
        for grade in grades:
            asker.submit(Work(grade.key(), grade), PROGRAMS)
        outcomes = come(asker, len(grades))
    errors = {grade.metric: outcomes[grade.key()] for grade in grades}
    assert all(
        isinstance(error, ModelError) and error.reason == METRIC for error in errors.values()
    )
    assert "cannot be loaded: ModuleNotFoundError: No module named 'lacking_metric'" in str(
        errors["lacking_metric"]
    )
    assert "differs from this run's metric (changed_metric)" in str(errors["changed_metric"])
    assert str(errors["ending_metric"]) == "the process that scored the answer ended, twice"


def sandboxes(pid: int) -> int:
    """Return the number of sandbox processes below a process."""
    count = 0
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            count += "tablebench.sandbox" in " ".join(process.cmdline())
    return count


def test_with_score_there_programs_run_at_the_workers(site: DaskSite, tmp_path: Path) -> None:
    program = Execute("print(6 * 7)")
    with (
        OpenAIServer() as server,
        engine(site, server, tmp_path / "answers", score_there=True) as running,
        client(running) as asker,
    ):
        asker.submit(Work(program.key(), program), PROGRAMS)
        (ran,) = come(asker).values()
        at_the_broker = sandboxes(running._process.pid)
        at_the_workers = sum(sandboxes(worker.pid) for worker in site.workers)
    assert isinstance(ran, Execution)
    assert (ran.outcome, ran.output) == ("ok", "42\n")
    assert (at_the_broker, at_the_workers > 0) == (0, True)
    with Store.open(tmp_path / "answers", write=False) as store:
        assert store.get_execution(program.key()) is not None


def test_without_dask_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(broker, "find_spec", lambda _: None)
    assert broker.main() == 2
    assert capsys.readouterr().err == (
        "--bench-executor=dask needs Dask: pip install 'pytest-tablebench[dask]'\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bench_scheduler": "tcp://h:1"}, "--bench-scheduler needs --bench-executor=dask"),
        ({"bench_score_there": True}, "--bench-score-there needs --bench-executor=dask"),
        (
            {"bench_executor": "dask", "bench_api_base": "http://me:secret@h/v1"},
            "--bench-api-base with a password, a key or a query would go to every machine",
        ),
    ],
)
def test_inconsistent_cluster_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        read_settings(options.get, Path())
    assert "secret@" not in str(refused.value)
