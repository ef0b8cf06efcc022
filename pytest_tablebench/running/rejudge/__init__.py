"""Judge the stored answers of a finished run again."""

from pytest_tablebench.running.rejudge._rejudge import Rejudged, rejudge, write_rejudged
from pytest_tablebench.running.rejudge._replay import Opener

__all__ = ["Opener", "Rejudged", "rejudge", "write_rejudged"]
