"""Who leads to whom: redirects resolved, duplicates joined, clicks counted. Arrays over URL ids.

Every array is indexed by the row of a URL (0-based, in order of journal id); -1 stands for none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def resolve(following: Rows) -> tuple[Rows, Flags]:
    """Follow ``following`` (the next row, -1 at an end) to the end of each chain.

    Returns the end of each row's chain and the rows that run into a loop, whose end is themselves.
    Pointer doubling: the number of passes is the logarithm of the longest chain.
    """
    own = np.arange(len(following), dtype=np.int64)
    jump = np.where(following >= 0, following, own)
    for _ in range(max(1, int(np.ceil(np.log2(len(following) + 1))) + 1)):
        further = jump[jump]
        if np.array_equal(further, jump):
            break
        jump = further
    looping = following[jump] >= 0 if len(following) else np.zeros(0, dtype=np.bool_)
    return np.where(looping, own, jump), looping


@dataclass(frozen=True)
class Graph:
    """Links in compressed rows: row ``i`` leads to ``targets[starts[i]:starts[i + 1]]``."""

    starts: Rows
    targets: Rows

    @classmethod
    def of(cls, rows: int, packed: dict[int, Rows]) -> Graph:
        """Build from the targets of each row that has any."""
        counts = np.zeros(rows + 1, dtype=np.int64)
        for row, targets in packed.items():
            counts[row + 1] = len(targets)
        ordered = [packed[row] for row in sorted(packed)]
        joined = np.concatenate(ordered) if ordered else np.zeros(0, dtype=np.int64)
        return cls(np.cumsum(counts), joined)

    def after(self, rows: Rows) -> Rows:
        """Return the distinct targets of all ``rows``."""
        counts = self.starts[rows + 1] - self.starts[rows]
        offsets = np.repeat(self.starts[rows] - np.cumsum(counts) + counts, counts)
        return np.unique(self.targets[offsets + np.arange(counts.sum())])


def clicks(graph: Graph, stands_for: Rows, sources: Rows) -> tuple[Rows, Flags]:
    """Count clicks from ``sources``; a URL and the page it stands for are at one distance.

    Returns the clicks (-1: not reached) and which rows are a target of a link of a reached row, or
    stand for one, or are stood for by one.
    """
    depth = np.full(len(stands_for), -1, dtype=np.int64)
    linked = np.zeros(len(stands_for), dtype=np.bool_)
    front = np.unique(np.concatenate([sources, stands_for[sources]]))
    level = 0
    while len(front):
        depth[front] = level
        found = graph.after(front)
        found = np.unique(np.concatenate([found, stands_for[found]]))
        linked[found] = True
        front = found[depth[found] < 0]
        level += 1
    return depth, linked
