"""Python's collector of reference cycles, held back while many small objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no cycles inside; what is read of pages has none, and scanning it for them is slow.

    Objects without cycles are freed as ever. Collection is as before afterwards.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
