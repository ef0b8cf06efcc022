"""Pytest hooks by subject. They translate between pytest and the session.

They decide only what pytest shows: the outcome of an item, and its words.
"""
