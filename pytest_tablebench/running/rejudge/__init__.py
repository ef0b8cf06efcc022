"""Judging a finished run again, from its stored answers."""

from pytest_tablebench.running.rejudge._judge import NewJudge
from pytest_tablebench.running.rejudge._rejudge import Rejudged, rejudge, write_rejudged

__all__ = ["NewJudge", "Rejudged", "rejudge", "write_rejudged"]
