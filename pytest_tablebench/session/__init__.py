"""The state of one process of a run: alone, controller or worker."""
