"""Shared stores on S3, with a real server on loopback and real processes."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.store import Store
from pytest_tablebench.store.shared import Shared, SharedStores
from pytest_tablebench.store.upkeep import survey
from tests.support.matrix import reduced
from tests.support.openai_server import OpenAIServer
from tests.support.runs import Script, run_pytest
from tests.support.stores import ask, filled, text_of

moto = pytest.importorskip("moto.server", reason="moto is not installed")
pytest.importorskip("s3fs", reason="s3fs is not installed")

SECRET = "marked-0b7c5d1e99a84f20"
WRITER = """
import sys
from pathlib import Path
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.store import Store
from pytest_tablebench.store.shared import Shared, SharedStores
folder, address, name, count = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
place = Shared(address, lambda text: print(text, file=sys.stderr))
with Store.open(folder) as store:
    for number in range(count):
        text = f"{name} {number}" if number % 3 else f"both {number}"
        request = Request("m", (Message("user", text),), {"temperature": 0}, case_id="wikitq/nu-1")
        store.put(request, Reply(f"to {text}", "stop"))
        if number % 5 == 4:
            place.push(folder)
            place.fetch(folder)
place.push(folder)
"""


@pytest.fixture(scope="module")
def _server() -> Iterator[str]:
    for name in ("werkzeug", "botocore", "aiobotocore"):
        logging.getLogger(name).setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Return the address of an empty bucket; its settings are in environment variables."""
    import boto3

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", _server)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name = f"b{abs(hash(str(tmp_path))):x}"
    boto3.client("s3").create_bucket(Bucket=name)
    return f"s3://{name}/answers"


def test_two_machines_write_while_a_third_compacts_and_nothing_is_lost(
    s3: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", WRITER, str(tmp_path / name), s3, name, "10"],
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for name in ("a", "b")
        ]
        warnings: list[str] = []
        place = Shared(s3, warnings.append)
        while any(writer.poll() is None for writer in writers):
            place.compact()
        said = [writer.communicate()[1] for writer in writers]
    assert ([writer.returncode for writer in writers], said) == ([0, 0], ["", ""])
    assert place.compact().after[0] == len(place.pieces()) == 1
    assert [place.push(tmp_path / name).files for name in ("a", "b")] == [0, 0]
    place.fetch(tmp_path / "third")
    wanted = {f"{name} {n}" if n % 3 else f"both {n}" for name in ("a", "b") for n in range(10)}
    with Store.open(tmp_path / "third") as store:
        assert {text: text_of(store, ask(text)) for text in wanted} == {
            text: f"to {text}" for text in wanted
        }
        assert store.warnings == warnings == []
    found = survey(tmp_path / "third")
    assert (found.keys, found.entries, found.damaged) == (len(wanted), len(wanted), 0)


def test_a_truncated_upload_is_not_read(s3: str, tmp_path: Path) -> None:
    import boto3

    filled(tmp_path / "a", "one", "two")
    warnings: list[str] = []
    place = Shared(s3, warnings.append)
    place.push(tmp_path / "a")
    client, bucket = boto3.client("s3"), s3.split("/")[2]
    [key] = [entry["Key"] for entry in client.list_objects_v2(Bucket=bucket)["Contents"]]
    whole = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    client.put_object(Bucket=bucket, Key=key, Body=whole[:-40])
    assert place.fetch(tmp_path / "b").files == 0
    assert len(warnings) == 1
    assert "is incomplete" in warnings[0]
    # The length is right and the bytes differ, so only the digest reveals it.
    client.put_object(Bucket=bucket, Key=key, Body=whole[:-40] + b" " * 40)
    assert place.fetch(tmp_path / "b").files == 0
    assert "its digest differs" in warnings[-1]
    client.put_object(Bucket=bucket, Key=key, Body=whole[:-40])
    assert place.push(tmp_path / "a").files == 1
    assert place.fetch(tmp_path / "b").files == 1


@pytest.mark.parametrize("kind", reduced(["file", "s3"], "file"))  # s3fs takes seconds to load
def test_a_second_machine_reuses_the_answers_of_the_first(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    address = s3 if kind == "s3" else f"file://{tmp_path}/net"
    asked = ["--bench-store", address]
    with OpenAIServer(Script(4)) as server:
        first = run_pytest(tmp_path / "one", server, *asked, count=3, model="plain/m")
        assert first.exit_code == 0, first.output
        assert f"store {address};" in first.output
        assert len(server.requests) == 3
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
        second = run_pytest(tmp_path / "two", server, *asked, count=4, model="plain/m")
        assert second.exit_code == 0, second.output
        assert len(server.requests) == 4
    assert [one.from_store for one in second.records.values()].count(True) == 3
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_read_only_store_is_not_written(s3: str, tmp_path: Path) -> None:
    filled(tmp_path / "a", "one")
    Shared(s3).push(tmp_path / "a")
    stores = SharedStores([(s3, tmp_path / "b", False)])
    stores.fetch()
    stores.start(every=1000)
    filled(tmp_path / "b", "two")
    stores.close()
    assert survey(tmp_path / "b").keys == 2
    assert len(Shared(s3).pieces()) == 1


def test_a_missing_bucket_is_named_before_the_first_call(s3: str, tmp_path: Path) -> None:
    stores = SharedStores([("s3://no-such-bucket/x", tmp_path, True)])
    with pytest.raises(SettingsError, match="answer store s3://no-such-bucket/x: cannot be") as no:
        stores.fetch()
    assert SECRET not in str(no.value)
