"""Hierarchical tables: grids of merged cells read from files, and what their cells mean."""
