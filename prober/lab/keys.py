"""API keys of the lab: a key is a tenant."""

import hashlib
import hmac
from collections.abc import Mapping

ANONYMOUS = "anonymous"
"""Tenant of every request when no key is configured, as with an inference server started without `--api-key`."""


class ApiKeys:
    """Tells the tenant from an `Authorization` header in a time that does not depend on the key.

    Only digests are kept, so neither `repr` nor a dump of this object can show a key.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._tenants = {_digest(key): tenant for key, tenant in keys.items()}

    @property
    def is_open(self) -> bool:
        """No key is configured: everyone is served, as the anonymous tenant."""
        return not self._tenants

    def tenant(self, authorization: str | None) -> str | None:
        """Tenant of a `Bearer` header; None when it is missing, of another scheme, or its key is not known."""
        if self.is_open:
            return ANONYMOUS
        scheme, _, key = (authorization or "").partition(" ")
        offered = _digest(key.strip())
        found = None
        # Every known key is compared: leaving early would tell by the time which one came close.
        for digest, tenant in self._tenants.items():
            if hmac.compare_digest(digest, offered):
                found = tenant
        return found if scheme.lower() == "bearer" else None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
