"""What outlives a cluster, so that the next one starts warm."""

from collections.abc import Callable

from prober.lab.cache.tiers import Tier
from prober.lab.tokenizer import Tokenizer


class CacheStore:
    """The disk tier, and the vocabulary without which its ids mean nothing: `Cluster(settings, old.store)`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._page_tokens = 0
        self._disk = Tier(0)

    def open(self, tokens: int, page_tokens: int, place_of: Callable[[bytes, int, int], int]) -> Tier:
        """Return the disk tier for a new cluster, with room for so many tokens; empty when pages are of another size.

        `place_of`: see `Tier.reopen`.
        """
        if page_tokens != self._page_tokens:
            self._disk = Tier(0)
            self._page_tokens = page_tokens
        self._disk.reopen(tokens // page_tokens, place_of)
        return self._disk
