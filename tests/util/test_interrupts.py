"""Interrupts wait for what must not be done by halves."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pytest_tablebench.session._kept_run import uninterrupted


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def pythons_own_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_when_the_block_has_ended():
    done = []

    def work() -> None:
        with uninterrupted():
            interrupt()
            interrupt()
            done.append("whole")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["whole"]
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_without_an_interrupt_nothing_changes():
    with uninterrupted():
        done = os.getpid()
    assert done


def test_an_error_in_the_block_stays():
    with pytest.raises(ValueError, match="mine"), uninterrupted():
        raise ValueError("mine")


def test_another_thread_has_no_interrupts():
    done = []

    def work() -> None:
        with uninterrupted():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]
