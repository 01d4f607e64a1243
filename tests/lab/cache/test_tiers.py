import asyncio

import pytest

from prober.lab.cache.tiers import DISK_SLOWNESS, Stored, Tier, Tiers, WriteQueue
from prober.lab.settings import LabSettings
from prober.lab.timing import Pace

SETTINGS = LabSettings(host_tokens=4 * 64, disk_tokens=8 * 64, load_seconds_per_page=0.5, store_seconds_per_page=0.5)


def tiers_of(disk: Tier, time_scale: float = 1e-9, settings: LabSettings = SETTINGS) -> Tiers:
    return Tiers(settings, Pace(time_scale, 0.0, 0), disk)


def page(letter: str) -> tuple[bytes, bytes]:
    return letter.encode(), letter.upper().encode()


def keys(letters: str) -> list[bytes]:
    return [letter.encode() for letter in letters]


async def found(tiers: Tiers, letters: str) -> str:
    await asyncio.sleep(0.001)
    return b"".join(row for row, _seconds in tiers.find(keys(letters))).decode()


async def test_what_falls_out_of_the_host_goes_to_the_disk_and_then_is_gone():
    """Pages unused for longest sink: host, disk, nowhere."""
    disk = Tier(8)
    tiers = tiers_of(disk)
    tiers.save(map(page, "abcdefghijklmn"))
    assert await found(tiers, "a") == await found(tiers, "b") == ""
    assert await found(tiers, "cdefghijklmn") == "CDEFGHIJKLMN"
    assert len(disk) == 8
    assert [seconds for _row, seconds in tiers.find(keys("cn"))] == [0.5 * DISK_SLOWNESS, 0.5]


@pytest.mark.alone
async def test_a_page_is_there_once_it_has_been_written():
    """A look-up does not see what is still being written, one page after the other; the disk is slower."""
    tiers = tiers_of(Tier(8), time_scale=1 / 10)
    tiers.save(map(page, "abcde"))
    assert tiers.find(keys("e")) == []
    await asyncio.sleep(0.12)
    assert len(tiers.find(keys("bcd"))) in {1, 2}
    await asyncio.sleep(0.2)
    assert len(tiers.find(keys("bcde"))) == 4
    assert tiers.find(keys("a")) == []


async def test_a_page_that_is_there_is_not_written_again():
    """What came back from a tier and is evicted again costs no second write, and counts as used."""
    tiers = tiers_of(Tier(0))
    tiers.save(map(page, "abcd"))
    tiers.save([(b"a", b"other")])
    tiers.save(map(page, "e"))
    assert await found(tiers, "a") == "A"
    assert await found(tiers, "b") == ""


async def test_a_look_up_ends_at_the_first_missing_page():
    """Pages behind a gap are of no use, and a path that was looked up sinks from its end."""
    tiers = tiers_of(Tier(0))
    tiers.save(map(page, "abcd"))
    assert await found(tiers, "abxd") == "AB"
    tiers.save(map(page, "efg"))
    assert await found(tiers, "ab") == "A"


async def test_tiers_without_room_keep_nothing():
    """Sizes of zero switch both tiers off."""
    tiers = tiers_of(Tier(0), settings=LabSettings())
    assert not tiers.has_room
    tiers.save(map(page, "a"))
    assert await found(tiers, "a") == ""


async def test_draining_puts_everything_on_the_disk():
    """When the cluster stops, what the host holds is saved, what was used latest outlasting the rest."""
    disk = Tier(3)
    tiers = tiers_of(disk)
    tiers.save(map(page, "abcd"))
    tiers.drain()
    assert [key for key, _stored in disk.empty()] == keys("bcd")


def test_a_tier_that_is_opened_again_keeps_what_has_room():
    """A new process finds each page where it was stored, ready at once, and drops what was unused for longest."""
    tier = Tier(4)
    for key, row in map(page, "abcd"):
        tier.put(key, Stored(row, ready_at=1e12))
    tier.touch(b"a")
    tier.reopen(3, lambda _key, place, _places: place)
    assert [tier.read(key, 0.0) for key in keys("abcd")] == [b"A", None, b"C", b"D"]
    assert b"b" not in tier
    tier.reopen(3, lambda _key, place, places: (place + 1) % places)
    assert [tier.read(key, 0.0) for key in keys("cda")] == [b"D", b"A", b"C"]


def test_writes_queue_up():
    """A write begins when the one before it has ended, or now."""
    queue = WriteQueue(2.0)
    assert [queue.add(10.0), queue.add(11.0), queue.add(20.0)] == [12.0, 14.0, 22.0]
