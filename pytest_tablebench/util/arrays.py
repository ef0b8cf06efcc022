"""numpy as `np`, imported at the first use of one of its attributes."""

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
            setattr(self, name, attribute)  # the next access skips this method
            return attribute

    np = _Numpy()
