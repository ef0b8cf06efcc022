"""Tests against golden vectors made by running the published benchmarks' own code."""
