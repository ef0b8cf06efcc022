"""Runs in the forms of other tools: out of a run folder, and into one.

A form is a module with an `Exporter`; those that are read again have an importer beside it.
"""
