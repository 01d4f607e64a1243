"""The kinds of isolation faults that public bug reports fall into: what a finding suspects, and what is covered."""

import enum


class FaultKind(enum.Enum):
    """One kind; `value` is its code, stable in storage, reports and metrics. docs/fault-kinds.md has their sources."""

    REJECTED_BUT_ADMITTED = "K1"
    LIVE_WRITER = "K2"
    READ_BEFORE_READY = "K3"
    FAILED_LOAD = "K4"
    HANDOFF_MIX_UP = "K5"
    BLOCK_TABLE_RACE = "K6"
    STALE_STATE = "K7"
    CACHE_KEY = "K8"
    WRONG_SESSION = "K9"
    ROW_STATE = "K10"
    STRAY_TOKENS = "K11"
    MISDELIVERY = "K12"
    RESPONSE_CACHE = "K13"
    CONNECTION_DESYNC = "K14"
    MISROUTING = "K15"
    PARTIAL_CONTEXT = "K16"
    PROTOCOL_LIE = "K17"
    NUMERIC_CORRUPTION = "K18"
    SHARED_CACHE = "K19"

    @property
    def title(self) -> str:
        """A few plain words."""
        return _TITLES[self]


_TITLES = {
    FaultKind.REJECTED_BUT_ADMITTED: "rejected but admitted",
    FaultKind.LIVE_WRITER: "page reused under a live writer",
    FaultKind.READ_BEFORE_READY: "restored page read before it was ready",
    FaultKind.FAILED_LOAD: "failed load counted as success",
    FaultKind.HANDOFF_MIX_UP: "handoff identity mixed up",
    FaultKind.BLOCK_TABLE_RACE: "block table or index race",
    FaultKind.STALE_STATE: "state not cleared on reuse",
    FaultKind.CACHE_KEY: "cache key incomplete or colliding",
    FaultKind.WRONG_SESSION: "wrong cached session restored",
    FaultKind.ROW_STATE: "sampling state left on a batch row",
    FaultKind.STRAY_TOKENS: "token in flight misattributed",
    FaultKind.MISDELIVERY: "response misdelivered",
    FaultKind.RESPONSE_CACHE: "response cache without tenant or full key",
    FaultKind.CONNECTION_DESYNC: "connection out of step",
    FaultKind.MISROUTING: "misrouted",
    FaultKind.PARTIAL_CONTEXT: "context cut silently",
    FaultKind.PROTOCOL_LIE: "failure told as success",
    FaultKind.NUMERIC_CORRUPTION: "numeric or decode corruption",
    FaultKind.SHARED_CACHE: "prefix cache shared across tenants",
}
