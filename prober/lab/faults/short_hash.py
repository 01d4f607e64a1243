"""K8: a page's key is made of too little of what it stands for."""

from collections.abc import Sequence

from prober.lab.faults.fault import Fault


class ShortHash(Fault):
    """The hash reads the first 256 bytes of a prompt and its number of pages; tenant and salt stand behind the ids."""

    NAME = "short_hash"
    KIND = "K8"
    SUMMARY = (
        "Page keys hash no more than a prompt's first 64 ids, so that prompts that share these share all pages, "
        "whosever they are: where their texts part, the later one's switches to the earlier one's at a page's edge."
    )
    SOURCE = "vLLM CVE-2025-46722 (hash without all that it stands for), LMCache issue #4783 (16 bits)"
    SCENE = "small-cached"
    FIXES = frozenset({"whole_hash"})

    def page_keys(self, tenant: str, salt: str, opening: bytes, pages: Sequence[bytes]) -> list[bytes]:
        """Hash the opening, and how many pages stand before."""
        if self.dice.strikes(ShortHash.NAME, opening.hex()):
            return super().page_keys("", "", opening, [opening] * len(pages))
        return super().page_keys(tenant, salt, opening, pages)
