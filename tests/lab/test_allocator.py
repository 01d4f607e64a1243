import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from prober.lab.allocator import PagedAllocator

PAGES, PAGE_TOKENS = 24, 4


class AllocatorMachine(RuleBasedStateMachine):
    """Any order of taking and giving back keeps every page in exactly one place."""

    need_sort = True

    def __init__(self) -> None:
        super().__init__()
        self.allocator = PagedAllocator(PAGES, PAGE_TOKENS, need_sort=self.need_sort)
        self.held: list[np.ndarray] = []

    @rule(tokens=st.integers(1, PAGES * PAGE_TOKENS + 9))
    def extend(self, tokens: int) -> None:
        available = self.allocator.available
        pages = self.allocator.extend(tokens)
        needed = -(-tokens // PAGE_TOKENS)
        assert (pages is None) == (needed > available)
        if pages is not None:
            assert len(pages) == needed
            self.held.append(pages)

    @rule()
    def step(self) -> None:
        available = self.allocator.available
        pages = self.allocator.step()
        assert (pages is None) == (available == 0)
        if pages is not None:
            self.held.append(pages)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if self.held:
            self.allocator.release(self.held.pop(data.draw(st.integers(0, len(self.held) - 1))))

    @invariant()
    def no_page_is_lost_or_doubled(self) -> None:
        held = np.concatenate([*self.held, np.zeros(0, dtype=np.int32)])
        assert len(held) + self.allocator.available == PAGES
        assert len(np.unique(held)) == len(held)
        assert ((held >= 1) & (held <= PAGES)).all()


class LifoMachine(AllocatorMachine):
    need_sort = False


TestSorted = AllocatorMachine.TestCase
TestSorted.settings = settings(max_examples=40, deadline=None, derandomize=True)
TestLifo = LifoMachine.TestCase
TestLifo.settings = settings(max_examples=40, deadline=None, derandomize=True)


def taken(allocator: PagedAllocator, tokens: int) -> list[int]:
    pages = allocator.extend(tokens)
    assert pages is not None
    return pages.tolist()


def test_disaggregated_reuse_sweeps_up_and_then_wraps_sorted():
    """Freed pages are reused only once the free list runs short, lowest number first."""
    allocator = PagedAllocator(8, 4, need_sort=True)
    first, second = taken(allocator, 8), taken(allocator, 8)
    assert (first, second) == ([1, 2], [3, 4])
    allocator.release(np.array(second, dtype=np.int32))
    allocator.release(np.array(first, dtype=np.int32))
    assert taken(allocator, 7) == [5, 6]
    assert taken(allocator, 8) == [1, 2]


def test_aggregated_reuse_is_last_in_first_out():
    """Freed pages come back at once, the latest freed first."""
    allocator = PagedAllocator(8, 4, need_sort=False)
    pages = allocator.extend(8)
    assert pages is not None
    allocator.release(pages)
    assert taken(allocator, 12) == [1, 2, 3]


@pytest.mark.parametrize(("tokens", "merged"), [(7, False), (8, True)])
def test_the_merge_condition_is_upstreams(tokens: int, merged: bool):  # noqa: FBT001 - a table's column
    """Lists are merged exactly when tokens // page + 2 exceeds the free list."""
    allocator = PagedAllocator(5, 4, need_sort=True)
    pages = allocator.extend(8)
    assert pages is not None
    allocator.release(pages)
    assert (taken(allocator, tokens)[0] == 1) is merged
