import pytest

from prober.lab.events import Stage
from prober.lab.fixes import Fix
from prober.lab.limits import door_refusal, largest_input
from prober.lab.settings import CONGESTED_LINK_SECONDS, FAST_LINK_SECONDS, LabSettings, preset


def test_api_keys_never_show():
    """A settings value can be printed and logged without showing a tenant's key."""
    assert "sk-planted" not in repr(LabSettings(keys={"sk-planted": "tenant-a"}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decode_pool_tokens": 100}, "decode_pool_tokens must be at least eight pages"),
        ({"prefill_pool_tokens": 681_281}, "whole pages"),
        ({"page_tokens": 0}, "multiple of page_tokens"),
        ({"chunked_prefill_tokens": 100}, "multiple of page_tokens"),
        ({"time_scale": 0.0}, "time_scale"),
    ],
)
def test_impossible_sizes_are_refused(changes: dict[str, float], message: str):
    """Settings that no cluster can have say which one is wrong."""
    with pytest.raises(ValueError, match=message):
        LabSettings(**changes)


def test_presets_set_the_switches_of_their_version():
    """Each preset carries both upstream faults and exactly its version's fixes."""
    fixes = {version: preset(version).apply(LabSettings()).fixes for version in ("0.5.19", "0.5.20", "0.5.21")}
    assert fixes == {
        "0.5.19": frozenset(),
        "0.5.20": {Fix.RETIRE_AFTER_FORWARD},
        "0.5.21": {Fix.RETIRE_AFTER_FORWARD, Fix.REJECT_AT_DOOR, Fix.DEFERRED_RELEASE},
    }
    assert preset("0.5.19").apply(LabSettings()).faults == {"stub_handoff": 1.0, "early_release": 1.0}
    with pytest.raises(ValueError, match=r"known: 0\.5\.19"):
        preset("1.0")


def test_the_link_is_congested_only_where_late_bytes_matter():
    """Early release comes with a slow link unless told otherwise."""
    early = {"early_release": 1.0}
    assert LabSettings().link_seconds_per_token == FAST_LINK_SECONDS
    assert LabSettings(faults=early).link_seconds_per_token == CONGESTED_LINK_SECONDS
    assert LabSettings(faults=early, transfer_seconds_per_token=1.0).link_seconds_per_token == 1.0


def test_the_incident_limit():
    """At the incident's sizes the first refused prompt has 681,274 tokens."""
    assert largest_input(1_048_576, 681_280) == 681_274
    assert largest_input(1_048_576, 1_100_032) == 1_048_570


@pytest.mark.parametrize(
    ("tokens", "max_tokens", "message"),
    [
        (100, 1, "The input (100 tokens) is longer than the model's context length (100 tokens)."),
        (
            90,
            11,
            (
                "Requested token count exceeds the model's maximum context length of 100 tokens. You requested a total "
                "of 101 tokens: 90 tokens from the input messages and 11 tokens for the completion. Please reduce the "
                "number of tokens in the input messages or the completion to fit within the limit."
            ),
        ),
    ],
)
def test_the_tokenizers_door_speaks_sglangs_words(tokens: int, max_tokens: int, message: str):
    """What does not fit the context is refused before any stream, in SGLang's words."""
    refusal = door_refusal(tokens, max_tokens, 100)
    assert refusal
    assert (refusal.status, refusal.stage, refusal.message) == (400, Stage.TOKENIZER, message)


def test_the_door_lets_in_what_just_fits():
    """Prompt and answer may fill the context to the last token."""
    assert door_refusal(90, 10, 100) is None
