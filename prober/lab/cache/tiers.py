"""Tiers below the device: host memory, and a disk that outlives the cluster."""

import asyncio
import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence

from prober.lab.settings import LabSettings
from prober.lab.timing import Pace

DISK_SLOWNESS = 10
"""Times that a page takes longer to or from the disk than to or from host memory."""


@dataclasses.dataclass(slots=True)
class Stored:
    """One page's ids, int32, and when they have been written (event-loop time)."""

    row: bytes
    ready_at: float


class Tier:
    """Room for so many pages, by key; those unused for longest fall out first."""

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._stored: collections.OrderedDict[bytes, Stored] = collections.OrderedDict()

    def __len__(self) -> int:
        """Pages in it."""
        return len(self._stored)

    def __contains__(self, key: bytes) -> bool:
        """Whether a page is in it, or on its way."""
        return key in self._stored

    def put(self, key: bytes, stored: Stored) -> list[tuple[bytes, Stored]]:
        """Take a page in, as the latest used; returns what had to go."""
        self._stored[key] = stored
        self._stored.move_to_end(key)
        return [self._stored.popitem(last=False) for _ in range(len(self._stored) - self._pages)]

    def read(self, key: bytes, now: float) -> bytes | None:
        """Return the ids of a page, when it is there and written."""
        stored = self._stored.get(key)
        return stored.row if stored is not None and stored.ready_at <= now else None

    def touch(self, key: bytes) -> None:
        """Make a page the latest used, if it is there."""
        if key in self._stored:
            self._stored.move_to_end(key)

    def empty(self) -> list[tuple[bytes, Stored]]:
        """Give up all pages; returns them, the one unused for longest first."""
        stored = list(self._stored.items())
        self._stored.clear()
        return stored

    def reopen(self, pages: int, place_of: Callable[[bytes, int, int], int]) -> None:
        """Begin again, in a new process with so much room, with what an earlier one stored.

        `place_of(key, place, places)` tells where the page of a key is found that was stored at a place.
        """
        stored = self.empty()
        for place, (key, _stored) in enumerate(stored):
            self.put(key, Stored(stored[place_of(key, place, len(stored))][1].row, 0.0))
        self._pages = pages
        while len(self._stored) > pages:
            self._stored.popitem(last=False)


class WriteQueue:
    """Writes one page after the other."""

    def __init__(self, seconds_per_page: float) -> None:
        self._seconds = seconds_per_page
        self._free_at = 0.0

    def add(self, now: float) -> float:
        """Queue a page; returns when it will have been written."""
        self._free_at = max(self._free_at, now) + self._seconds
        return self._free_at


class Tiers:
    """Host tier and disk tier of one cache: what leaves the device goes to the first, what leaves that to the other."""

    def __init__(self, settings: LabSettings, pace: Pace, disk: Tier) -> None:
        self._host = Tier(settings.host_tokens // settings.page_tokens)
        self._disk = disk
        self._load_seconds = settings.load_seconds_per_page
        seconds = pace.real(settings.store_seconds_per_page)
        self._host_writes = WriteQueue(seconds)
        self._disk_writes = WriteQueue(seconds * DISK_SLOWNESS)
        self.has_room = settings.host_tokens + settings.disk_tokens > 0

    def save(self, pages: Iterable[tuple[bytes, bytes]]) -> None:
        """Write pages (key, ids) back, the end of a path first. A page that is there already is not written again."""
        now = _now()
        for key, row in pages:
            if key in self._host:
                self._host.touch(key)
            elif key in self._disk:
                self._disk.touch(key)
            else:
                for fallen in self._host.put(key, Stored(row, self._host_writes.add(now))):
                    self._sink(*fallen, now)

    def _sink(self, key: bytes, stored: Stored, now: float) -> None:
        written_at = self._disk_writes.add(max(now, stored.ready_at))
        self._disk.put(key, Stored(stored.row, written_at))

    def find(self, keys: Sequence[bytes]) -> list[tuple[bytes, float]]:
        """Ids, and virtual seconds to load them, of the longest beginning of a path that has been written."""
        now = _now()
        found: list[tuple[bytes, float]] = []
        for key in keys:
            if row := self._host.read(key, now):
                found.append((row, self._load_seconds))
            elif row := self._disk.read(key, now):
                found.append((row, self._load_seconds * DISK_SLOWNESS))
            else:
                break
        for key in reversed(keys[: len(found)]):
            self._host.touch(key)
            self._disk.touch(key)
        return found

    def drain(self) -> None:
        """Write all that the host tier holds to the disk, however long it takes: the cluster stops."""
        for key, stored in self._host.empty():
            self._disk.put(key, stored)


def _now() -> float:
    return asyncio.get_running_loop().time()
