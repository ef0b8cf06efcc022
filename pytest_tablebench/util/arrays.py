"""numpy as `np`, loaded when something of it is first asked for: naming it costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            attribute = getattr(numpy, name)
            setattr(self, name, attribute)  # found without this method from now on
            return attribute

    np = _Numpy()
