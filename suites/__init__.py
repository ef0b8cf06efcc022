"""The benchmarks as pytest suites; installed as `pytest_tablebench.suites`."""
