"""The registry of faults: a new one touches its own file and one line here."""

from collections.abc import Collection, Mapping
from typing import cast

from prober.domain.errors import LabError
from prober.lab.dice import Dice
from prober.lab.faults.aborted_send_wedges import AbortedSendWedges
from prober.lab.faults.aborted_slot import AbortedSlot
from prober.lab.faults.batch_index import BatchIndex
from prober.lab.faults.cache_without_tenant import CacheWithoutTenant
from prober.lab.faults.client_id_keyed import ClientIdKeyed
from prober.lab.faults.doubled_token import DoubledToken
from prober.lab.faults.early_release import EarlyRelease
from prober.lab.faults.endless_wait import EndlessWait
from prober.lab.faults.fault import Fault
from prober.lab.faults.group_mix import GroupMix
from prober.lab.faults.head_dropped import HeadDropped
from prober.lab.faults.invalid_handoff import InvalidHandoff
from prober.lab.faults.length_for_abort import LengthForAbort
from prober.lab.faults.load_error_ignored import LoadErrorIgnored
from prober.lab.faults.load_race import LoadRace
from prober.lab.faults.lost_token import LostToken
from prober.lab.faults.nan_scratch import NanScratch
from prober.lab.faults.noise_grows import NoiseGrows
from prober.lab.faults.padded_tail import PaddedTail
from prober.lab.faults.partial_batch_hit import PartialBatchHit
from prober.lab.faults.partial_onboarding import PartialOnboarding
from prober.lab.faults.room_collision import RoomCollision
from prober.lab.faults.salt_dropped import SaltDropped
from prober.lab.faults.semantic_cache import SemanticCache
from prober.lab.faults.shared_prefixes import SharedPrefixes
from prober.lab.faults.short_hash import ShortHash
from prober.lab.faults.stale_bias import StaleBias
from prober.lab.faults.stale_budget import StaleBudget
from prober.lab.faults.stale_mask import StaleMask
from prober.lab.faults.stale_reference import StaleReference
from prober.lab.faults.state_not_cleared import StateNotCleared
from prober.lab.faults.sticky_misroute import StickyMisroute
from prober.lab.faults.stolen_token import StolenToken
from prober.lab.faults.store_race import StoreRace
from prober.lab.faults.stub_handoff import StubHandoff
from prober.lab.faults.swallowed_error import SwallowedError
from prober.lab.faults.table_row_race import TableRowRace
from prober.lab.faults.tail_dropped import TailDropped
from prober.lab.faults.unread_reply import UnreadReply
from prober.lab.faults.warm_store import WarmStore
from prober.lab.faults.wrong_session_restored import WrongSessionRestored
from prober.lab.faults.zero_mask import ZeroMask
from prober.lab.fixes import Fix
from prober.lab.seams import Seams

_FAULTS: tuple[type[Fault], ...] = (
    StubHandoff,
    InvalidHandoff,
    EarlyRelease,
    AbortedSendWedges,
    LoadRace,
    StoreRace,
    LoadErrorIgnored,
    PartialBatchHit,
    StaleReference,
    RoomCollision,
    TableRowRace,
    PaddedTail,
    StateNotCleared,
    AbortedSlot,
    SaltDropped,
    ShortHash,
    WrongSessionRestored,
    WarmStore,
    StaleMask,
    ZeroMask,
    StaleBias,
    StaleBudget,
    StolenToken,
    DoubledToken,
    LostToken,
    PartialOnboarding,
    SharedPrefixes,
    ClientIdKeyed,
    BatchIndex,
    CacheWithoutTenant,
    SemanticCache,
    UnreadReply,
    StickyMisroute,
    GroupMix,
    HeadDropped,
    TailDropped,
    SwallowedError,
    LengthForAbort,
    EndlessWait,
    NoiseGrows,
    NanScratch,
)
FAULTS: Mapping[str, type[Fault]] = {fault.NAME: fault for fault in _FAULTS}
"""Name -> fault, by kind."""


def seams_of(rates: Mapping[str, float], fixes: Collection[str], dice: Dice) -> Seams:
    """Mix the decisions of one cluster: those of its faults that no fix unmakes, else the right ones.

    Raises:
        LabError: an unknown fault or fix, or a rate that is no probability.
    """
    check(rates, fixes)
    wrong = tuple(fault for name, fault in FAULTS.items() if name in rates and not fault.FIXES & set(fixes))
    return cast("Seams", type("ClusterSeams", (*wrong, Seams), {})(dice))


def check(rates: Mapping[str, float], fixes: Collection[str]) -> None:
    """Refuse what cannot be built in.

    Raises:
        LabError: as `seams_of`.
    """
    for name, rate in rates.items():
        if name not in FAULTS:
            raise LabError(f"no fault {name!r}; there are: {', '.join(FAULTS)}")
        if not 0 < rate <= 1:
            raise LabError(f"the rate of fault {name!r} must be above 0 and at most 1, and is {rate}")
    known = known_fixes()
    for name in sorted(set(fixes) - known):
        raise LabError(f"no fix {name!r}; there are: {', '.join(sorted(known))}")


def known_fixes() -> frozenset[str]:
    """Names of all fixes: those with machinery of their own, and those that unmake a fault."""
    return frozenset(map(str, Fix)).union(*(fault.FIXES for fault in _FAULTS))
