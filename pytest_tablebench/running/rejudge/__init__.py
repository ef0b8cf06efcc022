"""Judge the stored answers of a finished run again."""

from pytest_tablebench.running.rejudge._judge import NewJudge
from pytest_tablebench.running.rejudge._rejudge import Rejudged, rejudge, write_rejudged
from pytest_tablebench.running.rejudge._scorer import Opener

__all__ = ["NewJudge", "Opener", "Rejudged", "rejudge", "write_rejudged"]
