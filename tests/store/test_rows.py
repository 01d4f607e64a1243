"""What becomes of domain values in the tables."""

import pytest
import sqlalchemy as sa

from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import FragmentTally, Reading, Recall
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.rows import MAX_COUNT, clip
from prober.store.schema.runs import observations
from tests.support.ledger import SettableClock
from tests.support.reports import DONOR_CANARY, STARTED, STRANGER_CANARY, a_leak, a_sighting
from tests.support.stored import CANARY, CHECK, PROMPT, judged, opened

TEXT = "zebra quota falcon: a stranger's words"


async def test_what_came_back_is_stored_by_hash_and_counts(database: Database, clock: SettableClock):
    """Every figure of an observation is there, and no column holds a word of the answer."""
    ledger = SqlLedger(database, clock)
    run = await opened(ledger)
    await ledger.remember(run, [(CHECK, PROMPT)])
    observation = Observation(
        sent_at=STARTED,
        status=200,
        text=TEXT,
        reasoning=TEXT,
        finish_reason="stop\0",
        refusal=Refusal(reason=RefusalReason.LENGTH, code="c" * 999, stated_limits=(5, 10**30), stated_tokens=7),
        failure=FailureKind.CLOSED_EARLY,
        usage=Usage(prompt_tokens=681_274, completion_tokens=10**40, cached_tokens=-(10**40)),
        timeline=Timeline(first_token=0.25, body_acked=0.1),
        model_reported="glm\ud800",
        evidence_headers={f"x-{number:03d}": "v" for number in range(99)},
        is_stream=True,
    )
    reading = Reading(
        characters=len(TEXT),
        words=6,
        sha256="ab" * 32,
        own=(a_sighting(CANARY, windows=3),),
        foreign=(a_sighting(windows=2), a_sighting(STRANGER_CANARY, windows=4)),
        fragments=(
            FragmentTally(
                tenant_number=2, canary=DONOR_CANARY, groups=1, pairs=2, exclusive_words=3, evidence_bits=12.5
            ),
            FragmentTally(tenant_number=3, canary=None, groups=0, pairs=0, exclusive_words=1, evidence_bits=0.5),
        ),
        recall=Recall(asked=(NeedlePosition.END,), found=()),
    )
    await ledger.record(run, judged(a_leak(), observation=observation, reading=reading))
    async with database.begin() as connection:
        row = (await connection.execute(sa.select(observations))).one()._mapping
    assert row["status"] == 200
    assert row["prompt_tokens"] == 681_274
    assert (row["completion_tokens"], row["cached_tokens"], row["reasoning_tokens"]) == (MAX_COUNT, -MAX_COUNT, None)
    assert (row["finish_reason"], row["model_reported"]) == ("stop", "glm")
    assert row["refusal"] is RefusalReason.LENGTH
    assert len(row["refusal_code"]) == 200
    assert row["stated_limits"] == [5, MAX_COUNT]
    assert row["failure"] is FailureKind.CLOSED_EARLY
    assert row["timeline"]["first_token"] == 0.25
    assert row["timeline"]["headers"] is None
    assert len(row["evidence_headers"]) == 40
    assert (row["own_windows"], row["foreign_windows"]) == (3, 6)
    assert row["needles_asked"] == ["end"]
    assert [tally["probe_number"] for tally in row["fragments"]] == [DONOR_CANARY.probe_number, None]
    assert (row["answer_sha256"], row["answer_characters"]) == ("ab" * 32, len(TEXT))
    assert row["sent_at"] == STARTED
    assert not any("zebra" in str(value) for value in row.values())


@pytest.mark.parametrize(("given", "stored"), [("plain", "plain"), ("a\0b\udc80c", "abc"), ("x" * 300, "x" * 200)])
def test_foreign_strings_are_made_storable(given: str, stored: str):
    """NUL and lone surrogates go, the rest is bounded."""
    assert clip(given) == stored
