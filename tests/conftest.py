"""Fixtures shared by all tests."""

import pytest

pytest_plugins = ["pytester"]
