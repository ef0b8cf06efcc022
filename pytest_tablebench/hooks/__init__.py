"""Pytest hooks by subject. They translate between pytest and the session, and decide nothing."""
