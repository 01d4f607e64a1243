"""K19: tenants share the prefix cache."""

from collections.abc import Sequence

from prober.lab.faults.fault import Fault


class SharedPrefixes(Fault):
    """The namespace of the prefix cache has no tenant: by design in many servers, and told by usage and time."""

    NAME = "shared_prefixes"
    KIND = "K19"
    SUMMARY = (
        "Page keys lack the tenant (and keep the salt): whoever sends a beginning that another tenant has sent gets "
        "its pages, the right ones, and learns from cached tokens and time that somebody did."
    )
    SOURCE = "CVE-2025-46570 (vLLM before 0.9.0); Gu et al., arXiv 2502.07776"
    SCENE = "small-cached"
    FIXES = frozenset({"tenant_in_namespace"})

    def page_keys(self, tenant: str, salt: str, opening: bytes, pages: Sequence[bytes]) -> list[bytes]:
        """Leave the tenant out."""
        if self.dice.strikes(SharedPrefixes.NAME, opening.hex()):
            tenant = ""
        return super().page_keys(tenant, salt, opening, pages)
