"""Export runs to the formats of other tools, and import runs from some of them.

Each format is a module with a function `write_*`; importers are modules named `read_*` and `helm`.
"""
