"""Pytest's hooks by subject: they translate between pytest and the session, and decide nothing."""
