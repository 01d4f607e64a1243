"""Does one tenant's prompt find what another tenant's put into the prefix cache?"""

import dataclasses
from typing import Final

from prober.detect.accounts import fold_accounts, is_one_account
from prober.detect.cache_trial import base_tokens, is_cached, is_crossing, primers, signs, step_tokens
from prober.detect.counts import credible_cached_tokens
from prober.detect.series import tally_after
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.options import Arm, Trial
from prober.domain.outcome import Outcome
from prober.domain.series import SeriesTally
from prober.stats.bounds import leak_rate_upper95
from prober.stats.eprocess import sign_e_value

_NAME = "cache_sharing"

WARN_E: Final = 1e4
PAGE_E: Final = 1e6
"""Evidence of the paired sign test: a healthy series ever reaches it with probability 1e-4 and 1e-6."""

SEPARATES_E: Final = 1e2
"""Evidence that the same tenant's own hits are quicker, before anybody else's quickness is asked about."""

LEAST_CONTROLS: Final = 20
LEAST_CONTROL_SHARE: Final = 0.95
"""Positive controls that must have hit before silence means isolation: no hit may be no caching, or another replica."""


def detect_cache_sharing(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge trials of shared text that one tenant primed and another asks for (detection-science 9.3).

    Counts have no tolerance: cached tokens one step above what fresh text reports are SUSPECT once and a VIOLATION the
    second time in a series (no control miss of 3,500 showed any: at most 8.6e-4 by chance, squared). Times are compared
    in pairs, by sign only, and only if the positive control is quicker than fresh text: SUSPECT at 1e4, VIOLATION at
    1e6. "Isolated" takes 20 positive controls and hits in 95 % of them; until then nothing is said. Between tenants of
    one account sharing is by design: INCONCLUSIVE instead of any of these.
    """
    trial = evidence.probe.trial
    if trial is None or not evidence.answer.is_served:
        return ()
    after = tally_after(evidence, trial)
    found = (*_counted(evidence, trial, after), *_timed(evidence, trial, after), *_isolated(evidence, trial, after))
    if not found or not _is_among_own(evidence, trial):
        return found
    message = "Whether this text is shared says nothing: tenants of this trial are one account, whose cache is its own."
    return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.ONE_ACCOUNT, message),)


def _is_among_own(evidence: Evidence, trial: Trial) -> bool:
    """Somebody who sent the text before is of the asking tenant's own account, as far as is known by now."""
    number = evidence.probe.tenant.number
    known = dataclasses.replace(evidence.history, accounts=fold_accounts(evidence.history, evidence))
    return any(is_one_account(known, number, other) for other in primers(evidence, trial) - {number})


def _counted(evidence: Evidence, trial: Trial, after: SeriesTally) -> tuple[Finding, ...]:
    if not is_crossing(evidence, trial) or not is_cached(evidence, trial):
        return ()
    cached = credible_cached_tokens(evidence.observation.usage) or 0
    is_second = after.shared > 1
    message = (
        f"{cached:,} cached tokens reported for text that only another tenant had sent; fresh text reports at most "
        f"{base_tokens(evidence, trial) or 0:,}, and {step_tokens(evidence) or 0:,} more count"
        f"{'; the second time in this series' if is_second else ''}."
    )
    outcome = Outcome.VIOLATION if is_second else Outcome.SUSPECT
    return (_finding(evidence, outcome, Reason.CACHE_SHARED, message),)


def _timed(evidence: Evidence, trial: Trial, after: SeriesTally) -> tuple[Finding, ...]:
    completes = any(arm is Arm.HIT for arm, _ in signs(evidence, trial))
    evidence_now = sign_e_value(after.faster, after.slower)
    if not completes or not _separates(after) or evidence_now < WARN_E:
        return ()
    message = (
        f"Text that another tenant had sent had its first token sooner than fresh text in {after.faster} of "
        f"{after.faster + after.slower} pairs (evidence {evidence_now:.1e}, page from {PAGE_E:.0e})."
    )
    outcome = Outcome.VIOLATION if evidence_now >= PAGE_E else Outcome.SUSPECT
    return (_finding(evidence, outcome, Reason.CACHE_SHARED, message),)


def _separates(tally: SeriesTally) -> bool:
    return sign_e_value(tally.control_faster, tally.control_slower) >= SEPARATES_E


def _isolated(evidence: Evidence, trial: Trial, after: SeriesTally) -> tuple[Finding, ...]:
    is_asked = trial.arm is Arm.HIT and is_crossing(evidence, trial)
    if not is_asked or after.shared or sign_e_value(after.faster, after.slower) >= WARN_E:
        return ()
    counted = after.controls >= LEAST_CONTROLS and after.control_hits >= LEAST_CONTROL_SHARE * after.controls
    if counted and after.hits:
        return (_clean(evidence, "reported as cached", after.hits),)
    pairs = after.control_faster + after.control_slower
    if pairs >= LEAST_CONTROLS and after.control_faster >= LEAST_CONTROL_SHARE * pairs and _separates(after):
        return (_clean(evidence, "sooner by the clock", after.faster + after.slower),)
    return ()


def _clean(evidence: Evidence, how: str, trials: int) -> Finding:
    bound = leak_rate_upper95(max(1, trials))
    message = (
        f"Text that another tenant had sent is not {how}, while a tenant's own is; in {trials:,} trials, sharing in "
        f"more than {bound:.1%} of them is excluded at 95 %."
    )
    return _finding(evidence, Outcome.CLEAN, Reason.CACHE_ISOLATED, message)


def _finding(evidence: Evidence, outcome: Outcome, reason: Reason, message: str) -> Finding:
    return Finding(
        detector=_NAME,
        outcome=outcome,
        reason=reason,
        message=message,
        probe_label=evidence.probe.label,
        is_confirmed=outcome is Outcome.VIOLATION,
    )
