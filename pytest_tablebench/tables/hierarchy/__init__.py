"""Hierarchical tables: grids with merged cells read from files, and the meaning of their cells."""
