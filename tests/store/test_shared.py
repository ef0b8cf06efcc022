"""Shared stores in a network folder: copying, verification and compaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.config.settings import Settings, read_settings
from pytest_tablebench.errors import SettingsError, StoreError
from pytest_tablebench.models import Reply
from pytest_tablebench.store import Store
from pytest_tablebench.store._pieces import Piece, covered, pieces_of
from pytest_tablebench.store.shared import Shared, SharedStores
from pytest_tablebench.store.upkeep import compact, survey
from tests.support.present import present
from tests.support.stores import ask, filled, segments, text_of

KEY = "sk-marked-5e1f0c77a2d94b36"


def shared(tmp_path: Path, warnings: list[str] | None = None) -> Shared:
    return Shared(f"file://{tmp_path}/net", (warnings if warnings is not None else []).append)


def pieces(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "net" / "segments").iterdir())


def known(folder: Path, *texts: str) -> dict[str, str | None]:
    with Store.open(folder) as store:
        return {text: text_of(store, ask(text)) for text in texts}


def test_answers_of_one_machine_are_found_by_another(tmp_path: Path) -> None:
    filled(tmp_path / "a", "one", "two")
    filled(tmp_path / "a", "three")
    place = shared(tmp_path)
    assert place.push(tmp_path / "a").files == 2
    assert place.push(tmp_path / "a").files == 0  # no file is copied twice
    assert place.fetch(tmp_path / "b").files == 2
    assert place.fetch(tmp_path / "b").files == 0
    assert place.fetch(tmp_path / "a").files == 0  # its own answers are present
    assert known(tmp_path / "b", "one", "three") == {"one": "to one", "three": "to three"}
    # Fetched answers are pushed to another shared store and fetched back from there.
    other = Shared(f"file://{tmp_path}/other")
    assert other.push(tmp_path / "b").files == 2
    assert place.copy_to(other).files == 0
    assert other.copy_to(shared(tmp_path / "third")).files == 2


def test_a_growing_segment_is_pushed_piece_by_piece(tmp_path: Path) -> None:
    place = shared(tmp_path)
    with Store.open(tmp_path / "a") as store:
        for number in range(3):
            store.put(ask(f"{number}"), Reply(f"to {number}", "stop"))
            assert place.push(tmp_path / "a").files == 1
        [own] = segments(tmp_path / "a")
        with own.open("ab") as file:
            file.write(b'{"schema": 1, "key": "half a li')
        assert place.push(tmp_path / "a").files == 0  # until the line is complete
    found = [present(Piece.read(path.name)) for path in pieces(tmp_path)]
    assert [piece.start for piece in found] == [0, found[0].end, found[1].end]
    place.fetch(tmp_path / "b")
    assert known(tmp_path / "b", "0", "2") == {"0": "to 0", "2": "to 2"}


def test_large_segments_are_cut_between_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "a", *map(str, range(20)))
    [own] = segments(tmp_path / "a")
    monkeypatch.setattr("pytest_tablebench.store._pieces.LARGEST", 1500)
    found = list(pieces_of(own, 0))
    assert len(found) > 4
    assert b"".join(data for _, data in found) == own.read_bytes()
    assert all(piece.holds(data) and data.endswith(b"\n") for piece, data in found)
    assert covered(piece for piece, _ in found) == {own.stem: own.stat().st_size}
    gap = [piece for number, (piece, _) in enumerate(found) if number != 1]
    assert covered(gap) == {own.stem: found[0][0].end}


def test_a_truncated_upload_is_not_read_and_sent_again(tmp_path: Path) -> None:
    filled(tmp_path / "a", "one", "two")
    warnings: list[str] = []
    place = shared(tmp_path, warnings)
    place.push(tmp_path / "a")
    [piece] = pieces(tmp_path)
    whole = piece.read_bytes()
    piece.write_bytes(whole[: len(whole) // 2])
    assert place.fetch(tmp_path / "b").files == 0
    assert warnings == [
        f"answer store file://{tmp_path}/net: {piece.name} is incomplete (its writer was stopped); "
        f"it is skipped"
    ]
    assert place.push(tmp_path / "a").files == 1
    assert piece.read_bytes() == whole
    assert place.fetch(tmp_path / "b").files == 1


def test_a_piece_whose_digest_differs_from_its_name_is_not_read(tmp_path: Path) -> None:
    filled(tmp_path / "a", "one")
    warnings: list[str] = []
    place = shared(tmp_path, warnings)
    place.push(tmp_path / "a")
    [piece] = pieces(tmp_path)
    piece.write_bytes(piece.read_bytes().replace(b"to one", b"to two"))
    (piece.parent / "\x1b[31m.jsonl").write_bytes(b"x")
    (piece.parent / f"x.{0:012}-{10**12 - 1:012}.{'0' * 32}.jsonl").write_bytes(b"x")
    assert place.fetch(tmp_path / "b").files == 0
    assert not list((tmp_path / "b").rglob("*.jsonl"))
    assert len(warnings) == 3
    assert any("is damaged (its digest differs)" in text for text in warnings)


def test_forged_lines_are_refused(tmp_path: Path) -> None:
    [request] = filled(tmp_path / "a", "one")
    [own] = segments(tmp_path / "a")
    bad = own.read_bytes().replace(b"to one", b"to two") + b"[[[[\n"
    piece = Piece.of(
        "20260101T000000.000000Z-1-00000000", 0, bad
    )  # anyone with write access can do this
    place = shared(tmp_path)
    place.write(piece, bad)
    assert place.fetch(tmp_path / "b").files == 1
    with Store.open(tmp_path / "b") as store:
        assert store.get(request.key()) is None
        assert len(store.warnings) == 2
    found = survey(tmp_path / "b")
    assert (found.entries, found.damaged, len(found.problems)) == (0, 1, 2)


@pytest.mark.parametrize(
    "address",
    [
        f"s3://me:{KEY}@bucket/answers",
        f"s3://bucket/answers?key={KEY}",
        f"s3://bucket/answers#{KEY}",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_shown(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SettingsError, match="addresses are written to files") as caught:
        read_settings({"bench_store": address}.get, Path())
    assert KEY not in str(caught.value)
    with pytest.raises(SettingsError, match="addresses are written to files"):
        read_settings({"bench_store_readonly": [address]}.get, Path())
    assert main(["store", "stats", address]) == 2
    assert KEY not in capsys.readouterr().err


def test_a_shared_store_has_a_local_folder_in_front(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    given = {"bench_store": "s3://one/a/", "bench_store_readonly": ["s3://two/b", "here"]}
    settings = read_settings(given.get, tmp_path)
    own, other = (path for _, path, _ in settings.shared_stores())
    assert settings.store == "s3://one/a"
    assert settings.store_folder() == own
    assert settings.readonly_folders() == (other, tmp_path / "here")
    assert [write for _, _, write in settings.shared_stores()] == [True, False]
    assert own != other
    assert Settings(store=tmp_path).shared_stores() == []


def test_a_run_retries_uploads_and_reports_failed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"file://{tmp_path}/net"
    stores = SharedStores([(address, tmp_path / "a", True)])
    stores.fetch()
    stores.start(every=0.01)
    filled(tmp_path / "a", "one")
    stores.close()
    assert shared(tmp_path).fetch(tmp_path / "b").files == 1
    assert stores.warnings == []

    again = SharedStores([(address, tmp_path / "a", True)])
    again.fetch()
    again.start(every=1000)
    filled(tmp_path / "a", "two")

    def broken(*_: object) -> None:
        raise StoreError("answer store: cannot be written: no")

    monkeypatch.setattr(Shared, "write", broken)
    again.close()
    assert "tablebench store sync" in again.warnings[-1]
    assert str(tmp_path / "a") in again.warnings[-1]


def test_a_store_that_cannot_be_reached_ends_the_run_before_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match="answer store nowhere://x: "):
        SharedStores([("nowhere://x", tmp_path, False)])


def test_a_shared_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "net").write_text("a file, no folder")
    with pytest.raises(StoreError, match=r"answer store file://.*/net: cannot be written: "):
        shared(tmp_path).claim()
    (tmp_path / "here").write_text("a file, no folder")
    other = SharedStores([(f"file://{tmp_path}/other", tmp_path / "here", False)])
    with pytest.raises(SettingsError, match=r"/here, cannot be written "):
        other.fetch()


# Commands


def test_the_command_sync_copies_between_stores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    filled(tmp_path / "a", "one", "two")
    filled(tmp_path / "b", "two", "three")
    a, b, net = str(tmp_path / "a"), str(tmp_path / "b"), f"file://{tmp_path}/net"
    assert main(["store", "sync", a, net]) == 0
    assert "copied 1 segment, " in capsys.readouterr().out
    assert main(["store", "sync", net, b]) == 0
    assert main(["store", "sync", b, a]) == 0  # folders too
    assert known(tmp_path / "a", "one", "three") == {"one": "to one", "three": "to three"}
    capsys.readouterr()
    assert main(["store", "stats", b]) == 0
    assert capsys.readouterr().out.startswith("3 answers in 2 segments, ")
    (tmp_path / "b/translations").mkdir()  # of an earlier version
    assert main(["store", "stats", b]) == 0
    shown = capsys.readouterr().out.splitlines()[-1]
    assert shown == "translations/: not used any more; can be deleted"
    assert main(["store", "stats", net]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["m", "2"]
    assert main(["store", "verify", net]) == 0
    assert capsys.readouterr().out == "2 entries checked: nothing is damaged\n"
    assert main(["store", "sync", str(tmp_path / "none"), net]) == 2
    assert main(["store", "sync", b, net]) == 0
    capsys.readouterr()
    assert main(["store", "compact", net]) == 0
    before, after = capsys.readouterr().out.splitlines()
    assert before.startswith("before: 2 segments, ")
    assert after.startswith("after: 1 segment, ")
    assert main(["store", "verify", net]) == 0
    assert capsys.readouterr().out == "3 entries checked: nothing is damaged\n"
    assert main(["store", "compact", net, "--idle", "0"]) == 2
    assert "--idle is for folders" in capsys.readouterr().err


def test_the_command_check_names_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path, "one", "two")
    [own] = segments(tmp_path)
    own.write_bytes(own.read_bytes().replace(b"to two", b"to six"))
    assert main(["store", "verify", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert f"{own}, byte " in output
    assert "1 entry checked: 1 problem" in output


def test_compaction_merges_segments_that_serve_the_same_answers(tmp_path: Path) -> None:
    for number in range(3):  # the first answer of each request is served
        with Store.open(tmp_path) as store:
            for name in ("shared", f"own {number}"):
                store.put(ask(name), Reply(f"{name}, {number}", "stop"))
            store.put_resolution({"key": "facts", "number": number})
    names = ("shared", "own 0", "own 1", "own 2")
    before = known(tmp_path, *names)
    assert before["shared"] == "shared, 0"
    assert compact(tmp_path).stopped.endswith("was written to in the last 600 s")
    assert len(segments(tmp_path)) == 3
    done = compact(tmp_path, idle=0)
    assert (done.before[0], done.after[0], done.stopped) == (3, 1, "")
    assert done.after[1] < done.before[1]
    assert known(tmp_path, *names) == before
    with Store.open(tmp_path) as store:
        assert store.get_resolution("facts") == {"key": "facts", "number": 2}
        store.put(ask("later"), Reply("later", "stop"))
        store.put(ask("shared"), Reply("shared, later", "stop"))
    compact(tmp_path, idle=0)
    assert known(tmp_path, *names, "later") == {**before, "later": "later"}
    assert survey(tmp_path).entries == 5


def objects(tmp_path: Path) -> list[int]:
    """Return the numbers of pieces and of compaction notes in a shared store."""
    return [len(list((tmp_path / "net" / one).iterdir())) for one in ("segments", "compacted")]


def test_compacted_pieces_are_not_sent_again(tmp_path: Path) -> None:
    address, machines = f"file://{tmp_path}/net", [tmp_path / name for name in "abc"]
    for number, machine in enumerate(machines):
        with Store.open(machine) as store:
            store.put(ask("shared"), Reply(f"shared, {number}", "stop"))
            store.put(ask(f"own {number}"), Reply("own", "stop"))
            Shared(address).push(machine)
            store.put(ask(f"later {number}"), Reply("later", "stop"))
    names = ["shared", *(f"{name} {n}" for name in ("own", "later") for n in range(3))]
    Shared(address).fetch(tmp_path / "before")
    served = known(tmp_path / "before", *names)
    place = Shared(address)
    done = place.compact()
    assert (done.before[0], done.after[0], done.stopped) == (3, 1, "")
    assert done.after[1] < done.before[1]
    # Only new lines of the segments are sent, and not answers fetched from others.
    assert [Shared(address).push(machine).files for machine in machines] == [1, 1, 1]
    assert Shared(address).push(tmp_path / "before").files == 0
    assert objects(tmp_path) == [4, 1]
    place.compact()
    assert objects(tmp_path) == [1, 1]  # the second note includes the first
    assert [Shared(address).push(machine).files for machine in machines] == [0, 0, 0]
    Shared(address).fetch(tmp_path / "after")
    assert known(tmp_path / "after", *names) == {
        **served,
        **{f"later {number}": "later" for number in range(3)},
    }
    assert survey(tmp_path / "after").entries == len(names)
    assert place.compact().after[0] == 1  # a second compaction changes nothing
    # If a piece is missing, the note is ignored and a machine with the answers sends them again.
    [piece] = (tmp_path / "net" / "segments").iterdir()
    piece.unlink()
    assert [Shared(address).push(machine).files for machine in machines] == [1, 1, 1]


def test_an_interrupted_compaction_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"file://{tmp_path}/net"
    for name in "ab":
        filled(tmp_path / name, name)
        Shared(address).push(tmp_path / name)

    def broken(*_: object) -> None:
        raise StoreError("broken off")

    for step, left in (("_remove", [3, 1]), ("_put", [3, 1]), ("_pipe", [3, 1])):
        with monkeypatch.context() as patched:
            patched.setattr(Shared, step, broken)
            with pytest.raises(StoreError):
                Shared(address).compact()
        assert objects(tmp_path) == left
        assert [Shared(address).push(tmp_path / name).files for name in "ab"] == [0, 0]
    Shared(address).compact()
    assert objects(tmp_path) == [1, 1]
    Shared(address).fetch(tmp_path / "c")
    assert known(tmp_path / "c", "a", "b") == {"a": "to a", "b": "to b"}


def test_a_piece_compacted_during_a_fetch_is_fetched_from_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"file://{tmp_path}/net"
    for name in "ab":
        filled(tmp_path / name, name)
        Shared(address).push(tmp_path / name)
    place, read = Shared(address), Shared.read

    def late(shared: Shared, piece: Piece) -> bytes | None:
        if shared is place and not compacted:
            compacted.append(piece)
            Shared(address).compact()
        return read(shared, piece)

    compacted: list[Piece] = []
    monkeypatch.setattr(Shared, "read", late)
    place.fetch(tmp_path / "c")
    assert known(tmp_path / "c", "a", "b") == {"a": "to a", "b": "to b"}


def test_a_damaged_note_is_named_and_left_out(tmp_path: Path) -> None:
    address, warnings = f"file://{tmp_path}/net", list[str]()
    filled(tmp_path / "a", "one")
    (tmp_path / "net" / "compacted").mkdir(parents=True)
    (tmp_path / "net" / "compacted" / "x.json").write_text('{"schema": 1, "segments": [')
    assert Shared(address, warnings.append).push(tmp_path / "a").files == 1
    assert len(warnings) == 1
    assert warnings[0].endswith("compacted/x.json is damaged")


def test_a_damaged_segment_is_not_changed(tmp_path: Path) -> None:
    for number in range(4):
        filled(tmp_path, f"{number}")
    damaged = segments(tmp_path)[2]
    damaged.write_bytes(damaged.read_bytes()[:-9])
    done = compact(tmp_path, idle=0)
    assert done.stopped.startswith(f"{damaged.name} is damaged (its last line is torn)")
    assert done.after[0] == 3
    assert damaged.exists()
    assert known(tmp_path, "0", "3") == {"0": "to 0", "3": "to 3"}
