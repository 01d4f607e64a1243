"""Decisions of the prefix cache and its tiers: what a key is made of, and when a restored page may be read."""

from collections.abc import Sequence

from prober.lab.page_keys import chained, namespace


class CacheSeams:
    """Right decisions of prefix cache, host tier and disk tier. Rooms name requests."""

    def page_keys(self, tenant: str, salt: str, opening: bytes, pages: Sequence[bytes]) -> list[bytes]:
        """Key of the empty prefix, then one per page: tenant, salt and the contents of all pages up to it.

        `opening` is the prompt's first 64 tokens, which prompts that share more than that have in common.
        """
        del opening
        return chained(namespace(tenant, salt), pages)

    def restores_unrelated(self, room: int) -> bool:
        """Whether a prompt that is known for half of its length at least gets the pages of the latest finished one."""
        del room
        return False

    def snapshots_early(self, room: int) -> bool:
        """Whether the copy that a tier will get of the last page that can be restored is taken before it is written."""
        del room
        return False

    def awaits_copy(self, room: int, place: int, behind: int) -> bool:
        """Whether the request waits until a restored page has arrived; so many pages before and behind it belong to it.

        `place` counts from the prompt's beginning, `behind` to the end of what is restored.
        """
        del room, place, behind
        return True

    def trusts_failed_load(self, opening: bytes) -> bool:
        """Whether the load of a prompt's pages fails and counts as done."""
        del opening
        return False

    def counts_unread_pages(self, room: int) -> bool:
        """Whether the pages before the first that finds no room in the staging buffer count as loaded."""
        del room
        return False

    def shows_last_only(self, room: int) -> bool:
        """Whether of the restored pages only the last few enter the page table."""
        del room
        return False

    def place_on_disk(self, key: bytes, place: int, places: int) -> int:
        """Where a new process looks for a page that an earlier one stored at a place."""
        del key, places
        return place
