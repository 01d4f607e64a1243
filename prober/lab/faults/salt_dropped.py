"""K8: the keys of a salted request lack tenant and salt."""

from collections.abc import Sequence

from prober.lab.faults.fault import Fault


class SaltDropped(Fault):
    """Prompts with a salt are kept by their opening, pages within by a keyed polynomial, whose key got lost.

    The point at which such a polynomial is evaluated comes from tenant and salt. Without them it is zero, and so is
    every page's value (as Poly1305's with r = 0): what is left is how many pages stand before it.
    """

    NAME = "salt_dropped"
    KIND = "K8"
    SUMMARY = (
        "Page keys of a prompt with a cache salt lack tenant and salt, so that prompts with the same first 64 tokens "
        "share all pages, whosever they are and wherever their texts part: the later one reads the earlier one's."
    )
    SOURCE = "SGLang issue #24638, vLLM #30931 (salts and namespaces), CVE-2026-65104 (weak polynomial block hash)"
    SCENE = "small-cached"
    FIXES = frozenset({"salt_in_key"})

    def page_keys(self, tenant: str, salt: str, opening: bytes, pages: Sequence[bytes]) -> list[bytes]:
        """Leave opening and number of pages before."""
        if salt and self.dice.strikes(SaltDropped.NAME, opening.hex()):
            return super().page_keys("", "", opening, [opening] * len(pages))
        return super().page_keys(tenant, salt, opening, pages)
