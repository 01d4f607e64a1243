"""K13: the response cache answers prompts that are merely alike, whoever sent them."""

from prober.lab.faults.fault import Fault


class SemanticCache(Fault):
    """Likeness is enough, and the look-up has no tenant."""

    NAME = "semantic_cache"
    KIND = "K13"
    SUMMARY = (
        "A prompt that shares most of its word pairs with a stored one, of any tenant, gets the stored response: "
        "another's facts, id and all, in no time."
    )
    SOURCE = "vllm-project/semantic-router #1448 and #2134, upstash/semantic-cache #5"
    SCENE = "gateway-caching"
    SCENARIO = "twins"
    FIXES = frozenset({"exact_cache_lookup"})

    THRESHOLD = 0.4
    """Jaccard's index of word pairs; two prompts that have 57 % of their text in common reach it. The router's own
    measure, the cosine of embeddings, stands at 0.8."""

    def similarity_threshold(self, number: int) -> float | None:
        """Look for likeness."""
        if self.dice.strikes(SemanticCache.NAME, number):
            return SemanticCache.THRESHOLD
        return super().similarity_threshold(number)
