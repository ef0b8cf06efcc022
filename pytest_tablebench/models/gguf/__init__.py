"""Models in a file, served on this machine: `gguf:PATH`, and `tablebench/smollm2`.

docs/providers.md describes their use. Here is what is known of the file; the process that
serves it is `serve`, and the broker of a run starts that.
"""

from pytest_tablebench.models.gguf._model import PREFIX, SMOLLM2, GGUFModel, find_model

__all__ = ["PREFIX", "SMOLLM2", "GGUFModel", "find_model"]
