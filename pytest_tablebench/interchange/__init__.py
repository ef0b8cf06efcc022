"""Export runs to the formats of other tools, and import runs from some of them.

Each format is a module with an `Exporter`; importers are modules named `read_*` and `helm`.
"""
