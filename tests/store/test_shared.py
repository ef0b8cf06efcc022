"""Shared stores, over a network folder: what is brought where, and what is not believed."""

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
from tests.support.stores import ask, filled, segments, text_of

KEY = "sk-marked-5e1f0c77a2d94b36"


def shared(tmp_path: Path, warnings: list[str] | None = None) -> Shared:
    return Shared(f"file://{tmp_path}/net", (warnings if warnings is not None else []).append)


def pieces(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "net" / "segments").iterdir())


def known(folder: Path, *texts: str) -> dict[str, str | None]:
    with Store.open(folder) as store:
        return {text: text_of(store, ask(text)) for text in texts}


def test_what_one_machine_stored_another_finds(tmp_path: Path) -> None:
    filled(tmp_path / "a", "one", "two")
    filled(tmp_path / "a", "three")
    place = shared(tmp_path)
    assert place.push(tmp_path / "a").files == 2
    assert place.push(tmp_path / "a").files == 0  # nothing twice
    assert place.fetch(tmp_path / "b").files == 2
    assert place.fetch(tmp_path / "b").files == 0
    assert place.fetch(tmp_path / "a").files == 0  # its own it has
    assert known(tmp_path / "b", "one", "three") == {"one": "to one", "three": "to three"}
    # What was fetched is brought on to another shared store, and from there back again.
    other = Shared(f"file://{tmp_path}/other")
    assert other.push(tmp_path / "b").files == 2
    assert place.copy_to(other).files == 0
    assert other.copy_to(shared(tmp_path / "third")).files == 2


def test_a_segment_that_grows_is_brought_piece_by_piece(tmp_path: Path) -> None:
    place = shared(tmp_path)
    with Store.open(tmp_path / "a") as store:
        for number in range(3):
            store.put(ask(f"{number}"), Reply(f"to {number}", "stop"))
            assert place.push(tmp_path / "a").files == 1
        [own] = segments(tmp_path / "a")
        with own.open("ab") as file:
            file.write(b'{"schema": 1, "key": "half a li')
        assert place.push(tmp_path / "a").files == 0  # until the line is whole
    found = [Piece.read(path.name) for path in pieces(tmp_path)]
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


def test_what_was_cut_off_on_its_way_is_not_read_and_sent_again(tmp_path: Path) -> None:
    filled(tmp_path / "a", "one", "two")
    warnings: list[str] = []
    place = shared(tmp_path, warnings)
    place.push(tmp_path / "a")
    [piece] = pieces(tmp_path)
    whole = piece.read_bytes()
    piece.write_bytes(whole[: len(whole) // 2])
    assert place.fetch(tmp_path / "b").files == 0
    assert warnings == [
        f"answer store file://{tmp_path}/net: {piece.name} is not whole (its writer was stopped); "
        f"it is not read"
    ]
    assert place.push(tmp_path / "a").files == 1
    assert piece.read_bytes() == whole
    assert place.fetch(tmp_path / "b").files == 1


def test_what_is_not_what_its_name_says_is_not_read(tmp_path: Path) -> None:
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
    assert any("is damaged: its digest does not hold" in text for text in warnings)
    assert all("\x1b" not in text for text in warnings)


def test_lines_that_somebody_made_up_are_refused_as_in_any_store(tmp_path: Path) -> None:
    [request] = filled(tmp_path / "a", "one")
    [own] = segments(tmp_path / "a")
    bad = own.read_bytes().replace(b"to one", b"to two") + b"[[[[\n"
    piece = Piece.of("20260101T000000.000000Z-1-00000000", 0, bad)  # whoever may write there can
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
    with pytest.raises(SettingsError, match="is never taken here") as caught:
        read_settings({"bench_store": address}.get, Path())
    assert KEY not in str(caught.value)
    with pytest.raises(SettingsError, match="is never taken here"):
        read_settings({"bench_store_readonly": [address]}.get, Path())
    assert main(["store", "stats", address]) == 2
    assert KEY not in capsys.readouterr().err


def test_a_shared_store_has_a_folder_of_this_machine_before_it(
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


def test_a_run_goes_on_sending_and_says_what_could_not_be_sent(
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


def test_what_cannot_be_reached_ends_the_run_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match="answer store nowhere://x: "):
        SharedStores([("nowhere://x", tmp_path, False)])


# The commands


def test_stores_are_brought_together_by_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    filled(tmp_path / "a", "one", "two")
    filled(tmp_path / "b", "two", "three")
    a, b, net = str(tmp_path / "a"), str(tmp_path / "b"), f"file://{tmp_path}/net"
    assert main(["store", "sync", a, net]) == 0
    assert "brought 1 segment, " in capsys.readouterr().out
    assert main(["store", "sync", net, b]) == 0
    assert main(["store", "sync", b, a]) == 0  # folders too
    assert known(tmp_path / "a", "one", "three") == {"one": "to one", "three": "to three"}
    capsys.readouterr()
    assert main(["store", "stats", b]) == 0
    assert capsys.readouterr().out.startswith("3 answers in 2 segments, ")
    assert main(["store", "stats", net]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "          2  m"
    assert main(["store", "verify", net]) == 0
    assert capsys.readouterr().out == "2 entries checked: nothing is damaged\n"
    assert main(["store", "sync", str(tmp_path / "none"), net]) == 2
    assert main(["store", "compact", net]) == 2
    assert "are never changed" in capsys.readouterr().err


def test_damage_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path, "one", "two")
    [own] = segments(tmp_path)
    own.write_bytes(own.read_bytes().replace(b"to two", b"to six"))
    assert main(["store", "verify", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert f"{own}, byte " in output
    assert "1 entry checked: 1 problem" in output


def test_many_segments_become_one_that_serves_the_same(tmp_path: Path) -> None:
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


def test_a_damaged_segment_is_left_as_it_is(tmp_path: Path) -> None:
    for number in range(4):
        filled(tmp_path, f"{number}")
    damaged = segments(tmp_path)[2]
    damaged.write_bytes(damaged.read_bytes()[:-9])
    done = compact(tmp_path, idle=0)
    assert done.stopped.startswith(f"{damaged.name} is damaged (its last line is torn)")
    assert done.after[0] == 3
    assert damaged.exists()
    assert known(tmp_path, "0", "3") == {"0": "to 0", "3": "to 3"}
