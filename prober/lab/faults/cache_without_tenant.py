"""K13: the response cache's key is the prompt alone."""

import hashlib
from collections.abc import Hashable

from prober.lab.events import GenerateRequest
from prober.lab.faults.fault import Fault


class CacheWithoutTenant(Fault):
    """The key lacks the tenant, the salt, and every field that shapes the answer."""

    NAME = "cache_without_tenant"
    KIND = "K13"
    SUMMARY = (
        "The gateway stores responses under the prompt's text and nothing else; whoever sends the same text gets the "
        "stored response with its id, in no time, whatever else was asked for."
    )
    SOURCE = "LiteLLM, CVE-2026-89032 and #19575; OmniRoute #3740, bifrost #5769"
    SCENE = "gateway-caching"
    SCENARIO = "twins"
    FIXES = frozenset({"whole_cache_key"})

    def cache_key(self, request: GenerateRequest) -> Hashable:
        """Leave all but the prompt out."""
        if self.dice.strikes(CacheWithoutTenant.NAME, _digest(request)):
            return request.messages
        return super().cache_key(request)


def _digest(request: GenerateRequest) -> str:
    """Subject of the dice: the same for whoever sends the text."""
    return hashlib.sha256(repr(request.messages).encode("utf-8", "surrogatepass")).hexdigest()
