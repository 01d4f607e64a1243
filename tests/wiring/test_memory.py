"""Freed memory goes back to the system."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from prober.wiring import memory

GROWN = """
import ctypes, pathlib, sys, threading
from prober.wiring.memory import give_back

def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

def scatter():
    kept = [ctypes.create_string_buffer(100_000) for _ in range(600)]
    held.append(kept[-1])

held = []
threads = [threading.Thread(target=scatter) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
before = resident()
give_back()
print(before - resident())
"""


@pytest.mark.no_coverage
def test_what_threads_freed_is_given_back():
    """The process becomes smaller, though a last piece is still held on top of each arena.

    Not counted: coverage of threads spins for ever in one child of twenty, before memory is given back.
    """
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", GROWN], cwd=root, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 20_000_000


def test_without_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch):
    """Another C library has its own ways."""
    memory._trimmer.cache_clear()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _name: object())
    try:
        assert memory._trimmer() is None
        memory.give_back()
    finally:
        memory._trimmer.cache_clear()


def test_several_may_ask_at_once():
    """Runs end beside each other."""
    threads = [threading.Thread(target=memory.give_back) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
