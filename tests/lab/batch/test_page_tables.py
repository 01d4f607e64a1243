import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.batch.page_tables import PageTables


def pages(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.lists(st.integers(1, 99), max_size=9)), max_size=20))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_line_reads_as_the_last_writes_left_it(writes: list[tuple[int, int, list[int]]]):
    """Lines do not touch each other, and an entry holds what was written to it last, else the padding page."""
    tables, expected = PageTables(3), np.zeros((3, 20), dtype=np.int32)
    for row, first, numbers in writes:
        tables.write(row, pages(*numbers), first)
        expected[row, first : first + len(numbers)] = numbers
    for row in range(3):
        assert tables.read(row, 20).tolist() == expected[row].tolist()
        assert tables.read(row, 2).tolist() == expected[row, :2].tolist()


def test_what_is_read_is_a_copy():
    """A table that was read does not change when the line is written over."""
    tables = PageTables(1)
    tables.write(0, pages(1, 2, 3))
    before = tables.read(0, 3)
    tables.write(0, pages(7, 8))
    assert (before.tolist(), tables.read(0, 3).tolist()) == ([1, 2, 3], [7, 8, 3])
