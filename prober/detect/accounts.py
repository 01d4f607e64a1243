"""Are two tenants one account? What configuration and answers say of it from outside.

Between two keys of one account there is no isolation to test: providers share caches, quotas and memory within an
account on purpose. What is taken as a sign is only what one account alone explains; what a leak would look like as well
(one tenant's prompt in the other's cache) is none.
"""

import datetime as dt
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from prober.domain.evidence import Evidence, History, Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.tenant import Tenant

_NAME: Final = "accounts"

ORGANISATION_HEADERS: Final = ("openai-organization", "anthropic-organization-id")
"""Response headers by which OpenAI and Anthropic name the account that is charged (their API references, "headers")."""

REMAINING_HEADERS: Final = ("x-ratelimit-remaining-requests", "anthropic-ratelimit-requests-remaining")
"""Response headers that count down the requests which the account has left in its window (likewise)."""

LEAST_ANSWERS: Final = 2
"""Of each tenant that name its organisation: a single one may be another customer's answer, delivered wrongly."""

LEAST_TURNS: Final = 20
"""Changes of tenant in one unbroken countdown. Counters of two accounts go down with their own requests only: to look
like one, each would need exactly one request of somebody else's in every gap between ours, and readings that lie side
by side to begin with. Where a gap holds such a request by a coin's toss, 20 in a row are below 1e-6."""


def identities(evidence: Evidence) -> tuple[str, ...]:
    """Name the accounts that configuration and this answer give its tenant, each as `source:digest`."""
    headers = evidence.observation.evidence_headers
    named = [f"{name}:{headers[name]}" for name in ORGANISATION_HEADERS if name in headers]
    account = evidence.probe.tenant.account
    return (*((f"configuration:{account}",) if account else ()), *named)


def fold_accounts(history: History, evidence: Evidence) -> Mapping[int, frozenset[str]]:
    """Add what one answer tells of its tenant's account."""
    new, number = frozenset(identities(evidence)), evidence.probe.tenant.number
    known = history.accounts.get(number, frozenset())
    return history.accounts if new <= known else {**history.accounts, number: known | new}


def is_one_account(history: History, one: int, other: int) -> bool:
    """Both tenants, by number, are always named alike by some source, and never otherwise by that source."""
    return bool(_alike(history.accounts.get(one, frozenset()), history.accounts.get(other, frozenset())))


def account_findings(tenants: Sequence[Tenant], judgements: Sequence[Judgement]) -> tuple[Finding, ...]:
    """Say of each pair of tenants that is one account how that shows: INCONCLUSIVE, since isolation was not tested.

    Args:
        tenants: of the campaign; those that configuration gives one account need no answer to tell.
        judgements: of the whole run, in any order.
    """
    found = []
    for one, other in itertools.combinations(tenants, 2):
        sign = _configured(one, other) or _named(one, other, judgements) or _counted(one, other, judgements)
        if sign:
            message = (
                f"Tenants {one.name} and {other.name} are one account: {sign}. That nothing passes between them proves "
                "nothing; give each tenant an account of its own."
            )
            outcome = Outcome.INCONCLUSIVE
            found.append(Finding(detector=_NAME, outcome=outcome, reason=Reason.ONE_ACCOUNT, message=message))
    return tuple(found)


def _configured(one: Tenant, other: Tenant) -> str:
    is_same = bool(one.account) and one.account == other.account
    return "the configuration gives both the same account, in its address or in a header" if is_same else ""


def _named(one: Tenant, other: Tenant, judgements: Sequence[Judgement]) -> str:
    seen: list[list[str]] = []
    for tenant in (one, other):
        of_tenant = [
            set(identities(judgement.evidence))
            for judgement in judgements
            if judgement.evidence.probe.tenant.number == tenant.number
        ]
        seen.append([name for names in of_tenant for name in names])
    alike = _alike(frozenset(seen[0]), frozenset(seen[1]))
    for name in sorted(alike):
        if all(names.count(name) >= LEAST_ANSWERS for names in seen):
            return f"all their answers that bear {name.partition(':')[0]} name the same one"
    return ""


def _alike(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Names in common, of sources that never named either of them otherwise."""
    sources = [name.partition(":")[0] for name in one | other]
    return frozenset(name for name in one & other if sources.count(name.partition(":")[0]) == 1)


def _counted(one: Tenant, other: Tenant, judgements: Sequence[Judgement]) -> str:
    for header in REMAINING_HEADERS:
        if _longest_turns(one, other, judgements, header) >= LEAST_TURNS:
            return f"their requests count down one {header} together, one by one, through at least {LEAST_TURNS} turns"
    return ""


def _longest_turns(one: Tenant, other: Tenant, judgements: Sequence[Judgement], header: str) -> int:
    """Count changes of tenant in the longest stretch of requests, one after the other, that each take one away."""
    longest = turns = 0
    for (before, earlier), (after, later) in itertools.pairwise(_readings(one, other, judgements, header)):
        is_sequel = _end(before) <= after.evidence.observation.sent_at
        if not is_sequel or later != earlier - 1:
            turns = 0
            continue
        turns += before.evidence.probe.tenant.number != after.evidence.probe.tenant.number
        longest = max(longest, turns)
    return longest


def _readings(
    one: Tenant, other: Tenant, judgements: Sequence[Judgement], header: str
) -> Iterator[tuple[Judgement, int]]:
    """Give the countdown as the pair's answers tell it, in the order of sending; -1: an answer without it."""
    pair = {one.number, other.number}
    own = [judgement for judgement in judgements if judgement.evidence.probe.tenant.number in pair]
    for judgement in sorted(own, key=lambda each: each.evidence.observation.sent_at):
        text = judgement.evidence.observation.evidence_headers.get(header, "")
        yield judgement, int(text) if text.isascii() and text.isdecimal() else -1


def _end(judgement: Judgement) -> dt.datetime:
    observation, timeline = judgement.evidence.observation, judgement.evidence.observation.timeline
    return observation.sent_at + dt.timedelta(seconds=(timeline.connect or 0.0) + (timeline.end or 0.0))
