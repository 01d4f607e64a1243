"""What a series of trials has shown so far, as counts."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeriesTally:
    """Counts over the whole run, however long; `detect.series` folds them."""

    asked: int = 0
    """Fair trials of recall."""
    missed: int = 0
    """Of these, the decisive needle is not in the answer."""
    miss_cached: int | None = None
    """Largest credible `cached_tokens` of arm MISS; None: none was reported."""
    hits: int = 0
    """Answers of arm HIT whose cached tokens could be judged."""
    shared: int = 0
    """Of these, those that reported another tenant's text as cached."""
    controls: int = 0
    """Answers of arm CONTROL."""
    control_hits: int = 0
    """Of these, those that reported the same tenant's text as cached."""
    faster: int = 0
    """Pairs in which HIT had its first token before MISS had."""
    slower: int = 0
    control_faster: int = 0
    """Pairs in which CONTROL had its first token before MISS had."""
    control_slower: int = 0
