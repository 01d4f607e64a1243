"""Page tables of all rows: one line of page numbers per row, of which only a row's own entries mean anything."""

import numpy as np

from prober.lab.allocator import Pages


class PageTables:
    """Lines are written over, never cleared: behind a row's own entries stand those of whoever had the line before.

    An entry that was never written names page 0, which is reserved for padding.
    """

    def __init__(self, rows: int) -> None:
        self._lines = [np.zeros(0, dtype=np.int32) for _ in range(rows)]

    def write(self, row: int, pages: Pages, first: int = 0) -> None:
        """Write page numbers into a line, from an entry on."""
        end = first + len(pages)
        self._lengthen(row, end)
        self._lines[row][first:end] = pages

    def read(self, row: int, entries: int) -> Pages:
        """Copy of the first entries of a line, whoever wrote them."""
        self._lengthen(row, entries)
        return self._lines[row][:entries].copy()

    def _lengthen(self, row: int, entries: int) -> None:
        line = self._lines[row]
        if entries > len(line):
            self._lines[row] = np.concatenate([line, np.zeros(max(entries, 2 * len(line)) - len(line), dtype=np.int32)])
