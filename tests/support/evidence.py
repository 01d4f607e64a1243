"""Evidence built by hand and by hypothesis: by default a healthy, served, fully recalled 300,000-token probe."""

import dataclasses
import datetime as dt
from typing import Any

from hypothesis import strategies as st

from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, History, Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.marks import Marks
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.options import PLAIN, Arm, Malformation, RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, SharedPlace, SharedText
from prober.domain.prompt import NeedlePosition, Prompt
from prober.domain.reading import FragmentTally, Garble, Reading, Recall, Sighting, Tier
from prober.domain.series import SeriesTally
from prober.domain.target import Ask, OverlongContract, PhysicalBound, Target
from prober.domain.tenant import Tenant

NOON = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
CONTEXT = 1_048_576
POOL = 681_280
LIMIT = 681_274
OVER = 700_000
HEAD, MIDDLE, END = NeedlePosition
ALL_FOUND = Recall(asked=(HEAD, MIDDLE, END), found=(HEAD, MIDDLE, END))
ALL_MISSED = Recall(asked=(HEAD, MIDDLE, END), found=())
END_MISSED = Recall(asked=(HEAD, MIDDLE, END), found=(HEAD, MIDDLE))
NOTHING_READ = Reading(characters=0, words=0, sha256="0" * 64)
DONOR = Canary.of(2, 0, 77)


def a_target(**changes: object) -> Target:
    """Build the incident's target."""
    target = Target(name="lab", model="m", dialect="openai", context_tokens=CONTEXT, prefill_pool_tokens=POOL)
    return dataclasses.replace(target, **changes)


def a_probe(**changes: object) -> Probe:
    """Build a probe of tenant 1 that must be served."""
    probe = Probe(
        label="baseline/0001",
        scenario="baseline",
        tenant=Tenant(name="alpha", number=1),
        role=Role.CHECK,
        prompt=PromptSpec(tokens=300_000),
        expectation=Expectation.SERVE,
    )
    return dataclasses.replace(probe, **changes)


def a_prompt(**changes: object) -> Prompt:
    """Build what is known of a prompt; like in evidence, without its text."""
    prompt = Prompt(
        canary=Canary.of(1, 0, 5),
        text="",
        needles=(),
        filler_words=300_000,
        planned_tokens=300_000,
        token_tolerance=2,
    )
    return dataclasses.replace(prompt, **changes)


def an_observation(**changes: object) -> Observation:
    """Build a whole streamed answer under status 200."""
    observation = Observation(
        sent_at=NOON,
        status=200,
        finish_reason="stop",
        usage=Usage(prompt_tokens=300_000, completion_tokens=60),
        timeline=Timeline(first_token=30.0, end=31.0),
        is_stream=True,
        is_terminated=True,
        token_frames=60,
    )
    return dataclasses.replace(observation, **changes)


def a_reading(**changes: object) -> Reading:
    """Build the reading of an answer that recalls every needle."""
    reading = Reading(characters=300, words=60, sha256="a" * 64, recall=ALL_FOUND)
    return dataclasses.replace(reading, **changes)


PROVEN = History(is_recall_proven=True, recall_trials=20, recall_passes=20)
"""The LLM knew every needle that it was asked for."""


def an_evidence(**changes: object) -> Evidence:
    """Build evidence; parts by name (`reading=a_reading(...)`), sizes by `planned=` and `reported=`."""
    planned = changes.pop("planned", 300_000)
    reported = changes.pop("reported", planned)
    parts: dict[str, Any] = {
        "target": a_target(),
        "probe": a_probe(),
        "prompt": a_prompt(planned_tokens=planned),
        "observation": an_observation(usage=Usage(prompt_tokens=reported, completion_tokens=60)),
        "answer": Answer.SERVED_FULL,
        "reading": a_reading(),
        "history": PROVEN,
    }
    return Evidence(**{**parts, **changes})


def over_limit(**changes: object) -> Evidence:
    """Build a probe of 700,000 tokens that was answered in full although a refusal was due."""
    return an_evidence(**{"planned": OVER, "probe": a_probe(expectation=Expectation.REJECT), **changes})


def a_finding(reason: Reason, outcome: Outcome, **changes: object) -> Finding:
    """Build a finding of no detector in particular."""
    finding = Finding(detector="any", outcome=outcome, reason=reason, message="It was so.", probe_label="a/1")
    return dataclasses.replace(finding, **changes)


def a_judgement(evidence: Evidence | None = None, *findings: Finding) -> Judgement:
    """Build a judgement; by default of one clean finding."""
    clean = (a_finding(Reason.SERVED, Outcome.CLEAN),)
    return Judgement(evidence=evidence or an_evidence(), findings=findings or clean)


def a_mark(**changes: object) -> AnswerMark:
    """Build what stays of a sound answer of tenant 2, an undisturbed one to text `t1`."""
    mark = AnswerMark(
        label="baseline/0000",
        scenario="baseline",
        role=Role.REFERENCE,
        tenant_number=2,
        canary=DONOR,
        text_sha256="t1",
        options=PLAIN,
        trial=None,
        answer=Answer.SERVED_FULL,
        outcome=Outcome.CLEAN,
        sha256="f" * 64,
        signature=tuple(range(64)),
        words=10,
        response_id="id-0",
        is_recall_missed=False,
        is_garbled=False,
        first_token_seconds=30.0,
        end_seconds=31.0,
        cached_tokens=0,
        prompt_tokens=300_000,
        system_fingerprint="fp-1",
        model_reported="m",
    )
    return dataclasses.replace(mark, **changes)


def a_history(*marks: AnswerMark, **changes: object) -> History:
    """Build a history in which recall is proven and these answers came, each a reference too if it is one."""
    references = Marks.of(mark for mark in marks if mark.role is Role.REFERENCE)
    history = dataclasses.replace(PROVEN, clean=9, probes=9, marks=Marks.of(marks), references=references)
    return dataclasses.replace(history, **changes)


def a_sighting(**changes: object) -> Sighting:
    """Build a whole window of tenant 2's live donor."""
    sighting = Sighting(
        tier=Tier.CODE,
        canary=DONOR,
        is_live=True,
        windows=9,
        first_block=120,
        last_block=121,
        evidence_bits=37.5,
    )
    return dataclasses.replace(sighting, **changes)


def a_tally(bits: float, **changes: object) -> FragmentTally:
    """Build fragment evidence against tenant 2."""
    tally = FragmentTally(tenant_number=2, canary=DONOR, groups=3, pairs=2, exclusive_words=4, evidence_bits=bits)
    return dataclasses.replace(tally, **changes)


_TOKENS = st.none() | st.sampled_from((1, 200, 300_000, 681_273, 681_274, 700_000, 1_048_575, 1_048_576))
_SECONDS = st.none() | st.floats(min_value=0.0, max_value=400.0)
_CANARIES = st.builds(Canary, st.integers(0, 3), st.sampled_from((5, 1 << 28)))
_SIGHTINGS = st.builds(
    Sighting,
    tier=st.sampled_from(Tier),
    canary=_CANARIES,
    is_live=st.booleans(),
    windows=st.integers(1, 50),
    first_block=st.none() | st.integers(0, 2047),
    last_block=st.none() | st.integers(0, 2047),
    evidence_bits=st.floats(0, 44),
)
_TALLIES = st.builds(
    FragmentTally,
    tenant_number=st.integers(0, 3),
    canary=st.none() | _CANARIES,
    groups=st.integers(0, 9),
    pairs=st.integers(0, 9),
    exclusive_words=st.integers(0, 9),
    evidence_bits=st.floats(-20, 60),
)
_RECALLS = st.sets(st.sampled_from(NeedlePosition)).flatmap(
    lambda asked: st.builds(
        lambda found: Recall(
            asked=tuple(p for p in NeedlePosition if p in asked),
            found=tuple(p for p in NeedlePosition if p in found),
        ),
        st.sets(st.sampled_from(sorted(asked, key=lambda p: p.value))) if asked else st.just(set()),
    )
)
_GARBLES = st.builds(
    Garble,
    scripts=st.sampled_from((0, 0, 0, 1, 3)),
    replacements=st.sampled_from((0, 0, 0, 1, 9)),
    longest_loop=st.sampled_from((0, 0, 24, 64, 900)),
    doubled_words=st.sampled_from((0, 0, 1, 30)),
    repeated_words=st.sampled_from((0, 0, 1, 30)),
)
_SIGNATURES = st.sampled_from(((), tuple(range(64)), tuple(range(64, 128)), tuple(range(8)), (*range(60), 1, 2, 3, 4)))
readings = st.builds(
    Reading,
    characters=st.integers(1, 4000),
    words=st.integers(1, 400),
    sha256=st.just("b" * 64),
    foreign=st.lists(_SIGHTINGS, max_size=3).map(tuple),
    fragments=st.lists(_TALLIES, max_size=3).map(tuple),
    recall=_RECALLS,
    novel_words=st.integers(0, 60),
    longest_novel_run=st.integers(0, 60),
    is_refusal_like=st.booleans(),
    garble=_GARBLES,
    signature=_SIGNATURES,
    letters=st.integers(0, 3),
    digits=st.integers(0, 3),
    foreign_choice=st.sampled_from(("", "", "amber lamp")),
    stray_words=st.integers(0, 2),
    repeats_opening=st.booleans(),
)
observations = st.builds(
    Observation,
    sent_at=st.just(NOON),
    status=st.none() | st.sampled_from((200, 201, 302, 400, 401, 403, 404, 413, 418, 422, 429, 500, 503, 529)),
    failure=st.none() | st.sampled_from(FailureKind),
    refusal=st.none()
    | st.builds(Refusal, reason=st.sampled_from(RefusalReason), in_stream=st.booleans(), stated_tokens=_TOKENS),
    text=st.sampled_from(("", " \n", "Harbour phrase.")),
    reasoning=st.sampled_from(("", "Let me think.")),
    finish_reason=st.none() | st.sampled_from(("stop", "length", "abort", "error", "content_filter", "tool_calls")),
    usage=st.builds(
        Usage,
        prompt_tokens=_TOKENS,
        completion_tokens=st.none() | st.integers(0, 64),
        cached_tokens=_TOKENS,
        reasoning_tokens=st.none() | st.integers(0, 64),
    ),
    timeline=st.builds(Timeline, first_token=_SECONDS, loop_lag_seconds=st.floats(0.0, 0.1)),
    model_reported=st.none() | st.sampled_from(("m", "n")),
    evidence_headers=st.sampled_from(({}, {"X-LiteLLM-Attempted-Fallbacks": "1"}, {"cf-aig-cache-status": "HIT"})),
    is_stream=st.booleans(),
    is_terminated=st.booleans(),
    token_frames=st.integers(0, 5),
    bad_frames=st.integers(0, 2),
    response_id=st.sampled_from((None, "", "id-0", "id-1")),
    response_ids=st.integers(0, 3),
    finish_marks=st.integers(0, 3),
    logprobs_agree=st.sampled_from((None, True, False)),
    system_fingerprint=st.sampled_from((None, "fp-1", "fp-2")),
    is_connection_reused=st.booleans(),
)
_SERIES = (
    "drift",
    "cohorts",
    "parallel/1",
    "parallel/8",
    "parallel/\u00b2",
    "cache_sharing/prefix/salted",
    "twins/near",
)
trials = st.builds(
    Trial,
    series=st.sampled_from(_SERIES),
    number=st.integers(1, 2),
    arm=st.sampled_from(Arm),
    cohort=st.sampled_from(("", "a", "b")),
)
options = st.builds(
    RequestOptions,
    request_id=st.sampled_from((None, "id")),
    session=st.sampled_from((None, "a")),
    cache_salt=st.sampled_from((None, "salt")),
    choices=st.sampled_from(((), ("amber lamp",))),
    favoured_token=st.sampled_from((None, None, 7)),
    malformation=st.none() | st.sampled_from(Malformation),
)
marks = st.builds(
    a_mark,
    role=st.sampled_from(Role),
    tenant_number=st.integers(1, 2),
    text_sha256=st.sampled_from(("", "t1", "t2")),
    options=options,
    trial=st.none() | trials,
    answer=st.sampled_from(Answer),
    outcome=st.sampled_from(Outcome),
    signature=_SIGNATURES,
    words=st.integers(0, 40),
    response_id=st.sampled_from((None, "id-0", "id-1")),
    is_recall_missed=st.sampled_from((None, True, False)),
    is_garbled=st.booleans(),
    first_token_seconds=_SECONDS,
    cached_tokens=_TOKENS,
    prompt_tokens=_TOKENS,
    system_fingerprint=st.sampled_from((None, "fp-1", "fp-2")),
    model_reported=st.sampled_from((None, "m", "n")),
)


def _tally(missed: int, shared: int, faster: int, controls: int) -> SeriesTally:
    return SeriesTally(
        asked=30,
        missed=missed,
        miss_cached=None if shared == 1 else 0,
        hits=30,
        shared=shared,
        controls=controls,
        control_hits=controls,
        faster=faster,
        slower=2,
        control_faster=controls,
        control_slower=0,
    )


_TALLIED = st.builds(
    _tally, st.integers(0, 30), st.integers(0, 3), st.sampled_from((0, 20, 60)), st.sampled_from((0, 40))
)
histories = st.builds(
    History,
    anchors=st.sampled_from(({}, {200_000: (18.0, 19.0, 18.5)}, {200_000: (18.0,)})),
    quickest_first_token=_SECONDS,
    recall_score=st.floats(-3, 12),
    is_recall_proven=st.booleans(),
    recall_trials=st.sampled_from((0, 20, 24)),
    recall_passes=st.sampled_from((0, 20)),
    fast_probe_labels=st.sampled_from(((), ("seed_and_probe/0009",))),
    cached_tokens_baseline=st.none() | st.integers(0, 1000),
    models_reported=st.sampled_from(((), ("m",))),
    marks=st.lists(marks, max_size=6).map(Marks.of),
    references=st.lists(marks, max_size=2).map(Marks.of),
    series=st.dictionaries(st.sampled_from(_SERIES), _TALLIED, max_size=4),
    scores=st.dictionaries(
        st.sampled_from(
            ("replays", "loops", "doubled", "empty", "restarted", "headless", "drift/a", "choices", "strays", "salads")
        ),
        st.floats(-3, 12),
    ),
    whole_recalls=st.sampled_from((0, 5)),
    have_logprobs_agreed=st.booleans(),
    probes=st.integers(0, 9),
    clean=st.integers(0, 9),
)
_SHARED = st.none() | st.builds(
    SharedText, source=st.sampled_from((None, DONOR)), lines=st.integers(0, 9), place=st.sampled_from(SharedPlace)
)


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    """Any evidence that can come about: the answer is what `classify` makes of the observation."""
    from prober.detect.answer import classify  # noqa: PLC0415 - builders must load without the layer under test

    target = a_target(
        prefill_pool_tokens=draw(st.sampled_from((POOL, None))),
        overlong=draw(st.sampled_from(OverlongContract)),
        thinking=draw(st.booleans()),
        physical_bound=draw(
            st.sampled_from((None, PhysicalBound(active_parameters=4e10, gpus=32, peak_flops_per_gpu=2e15)))
        ),
    )
    probe = a_probe(
        expectation=draw(st.sampled_from(Expectation)),
        role=draw(st.sampled_from(Role)),
        max_output_tokens=draw(st.sampled_from((1, 64))),
        prompt=PromptSpec(
            tokens=700_000,
            ask=draw(st.sampled_from(Ask)),
            rewrite_of=draw(st.sampled_from((None, DONOR))),
            shared=draw(_SHARED),
        ),
        scenario=draw(st.sampled_from(("baseline", "abort_storm", "twins", "cache_sharing", "limit_sweep"))),
        options=draw(st.just(PLAIN) | options),
        trial=draw(st.none() | trials),
    )
    prompt = a_prompt(
        planned_tokens=draw(_TOKENS),
        token_tolerance=draw(st.sampled_from((2, 400))),
        text_sha256=draw(st.sampled_from(("", "t1", "t2"))),
        filler_words=draw(st.sampled_from((0, 64, 300_000))),
    )
    observation = draw(observations)
    has_read = bool(observation.text or observation.reasoning)
    return Evidence(
        target=target,
        probe=probe,
        prompt=prompt,
        observation=observation.without_text(),
        answer=classify(target, probe, prompt, observation),
        reading=draw(readings) if has_read else NOTHING_READ,
        history=draw(histories),
    )
