"""TReB's metrics without a judge, against values worked out by hand."""

from __future__ import annotations

import tempfile
import time
from math import exp
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import score
from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.metrics import chinese
from pytest_tablebench.metrics.chinese import chinese_words, is_chinese

METRICS = ["treb_bleu", "treb_em", "treb_rouge"]
PIECES = ["中国", "龘", "。", "”", "a", "running", "\n", " ", ".", "…", "\ud800", "5", "A", "&amp;"]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=30)


@pytest.mark.parametrize(
    ("prediction", "answer", "reference", "fixed"),
    [
        ("B, D", "DB", 1, 0),
        ("B, D", "B", 0, 0),
        ("12", "99", 1, 0),
        (" 12\n", "12", 1, 1),
        ("The 12", "12", 0, 0),
        ("É", "é", 1, 0),
    ],
)
def test_exact_match_is_published_or_corrected_by_mode(
    prediction: str, answer: str, reference: float, fixed: float
) -> None:
    assert score("treb_em", prediction, [answer], compat="reference").value == reference
    assert score("treb_em", prediction, [answer]).value == fixed


@pytest.mark.parametrize(
    ("prediction", "answer", "tolerance", "value"),
    [
        ("3.14", "3.1400", 0.0, 1),
        ("3.14", "3.15", 0.005, 0),
        ("3.14", "3.15", 0.011, 1),
        ("pi", "3.14", 10.0, 0),
        ("nan", "3.14", 10.0, 0),
    ],
)
def test_numbers_are_right_within_the_tolerance(
    prediction: str, answer: str, tolerance: float, value: float
) -> None:
    assert score("treb_em", prediction, [answer], tolerance=tolerance).value == value


def test_the_best_of_several_references_counts() -> None:
    assert score("treb_em", "b", ["a", "b"]).value == 1
    assert score("treb_rouge", "b c", ["a", "b", "b c"]).value == 1
    for metric in METRICS:
        assert score(metric, "b", []).value == 0


@pytest.mark.parametrize(
    ("prediction", "answer", "value"),
    [
        ("a b c d e", "a b c d e", 1.0),
        # 2 of 3 words, 1 of 2 pairs, none of one triple: half of it counts.
        ("cat sat on", "cat sat in", (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)),
        # 1 of 3 words; half of one of 2 pairs; a quarter of one triple.
        ("x sat y", "cat sat in", (1 / 3 * 1 / 4 * 1 / 4) ** (1 / 3)),
        # Every word matches, and half of the reference is missing.
        ("a b", "a b c d", exp(1 - 4 / 2)),
        # A word counts no more often than the answer has it.
        ("a a", "a b", (1 / 2 * 1 / 2) ** 0.5),
        ("A", "a", 0.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        # An ampersand that is written out may begin a bracket that is.
        ("&amp;lt;", "<", 1.0),
        ("3,000.5", "3,000.5", 1.0),
        # 北京 is one word of two: 1/1, less the brevity.
        ("北京", "北京大", exp(1 - 2 / 1)),
    ],
)
def test_bleu_agrees_with_values_worked_out_by_hand(
    prediction: str, answer: str, value: float
) -> None:
    assert score("treb_bleu", prediction, [answer]).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("prediction", "answer", "value"),
    [
        # Stems: the dog ran, the dog run. Two of three in common.
        ("The dogs ran", "the dog runs!", 2 / 3),
        # Precision 1, recall 1/2.
        ("a b", "a b c d", 2 * 1 * 0.5 / 1.5),
        ("é", "é", 0.0),
        # 我 爱 北京, 我 爱 上海: two of three.
        ("我爱北京", "我爱上海", 2 * (4 / 9) / (4 / 3 + 1e-8)),
        # The answer's language decides, not the prediction's.
        ("我爱5", "5", 1.0),
        # A blank line between others is a word: one of 是 "" 是 for one of one.
        ("是\n\n是", "是", 2 * (1 / 3) / (4 / 3 + 1e-8)),
        # Marks alone are no Chinese, and no word of English.
        ("是。", "。", 0.0),
    ],
)
def test_rouge_agrees_with_values_worked_out_by_hand(
    prediction: str, answer: str, value: float
) -> None:
    assert is_chinese(answer) == (answer in {"我爱上海", "是"})
    assert score("treb_rouge", prediction, [answer]).value == pytest.approx(value, abs=1e-12)


def test_chinese_words_are_split_without_a_cache_in_a_shared_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "jieba.cache").write_bytes(b"not ours")
    tokenizer = chinese._tokenizer.__wrapped__()
    assert list(tokenizer.cut("中国的首都是北京")) == ["中国", "的", "首都", "是", "北京"]
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]
    assert capfd.readouterr() == ("", "")


@given(HOSTILE)
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(chinese_words(text)) == text


@given(HOSTILE, HOSTILE)
def test_any_texts_are_scored(prediction: str, answer: str) -> None:
    for metric in METRICS:
        for compat in COMPAT_MODES:
            assert 0 <= score(metric, prediction, [answer], compat=compat).value <= 1
    assert score("treb_em", prediction, [prediction]).value == 1


@pytest.mark.parametrize("piece", ["龘", "中国", "a", "y", "a ", "1,.", "\n", "…", "。", "A"])
@pytest.mark.parametrize("compat", COMPAT_MODES)
def test_long_replies_are_scored_quickly(piece: str, compat: Compat) -> None:
    text = piece * (40_000 // len(piece))
    start = time.process_time()
    for metric in METRICS:
        assert 0 <= score(metric, text, ["中国 is a country"], compat=compat).value <= 1
        assert 0 <= score(metric, text, ["a country"], compat=compat).value <= 1
    assert time.process_time() - start < 5
