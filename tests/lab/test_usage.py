"""Usage fields as healthy servers report them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.lab.events import Done
from prober.lab.settings import Honesty, LabSettings, Topology
from prober.lab.usage import UsageStyle, reported
from tests.support.cluster import ask_tokens, running

ENDS = st.builds(
    Done,
    finish_reason=st.just("stop"),
    prompt_tokens=st.integers(0, 1_000_000),
    completion_tokens=st.integers(0, 1_000),
    cached_tokens=st.none() | st.integers(0, 1_000_000),
)


@given(done=ENDS, style=st.sampled_from(UsageStyle))
def test_a_style_touches_nothing_but_cached_tokens(done: Done, style: UsageStyle):
    """Whatever a server says of its cache, all other counts stand."""
    told = reported(done, style)

    assert (told.prompt_tokens, told.completion_tokens, told.finish_reason) == (
        done.prompt_tokens,
        done.completion_tokens,
        "stop",
    )


@given(done=ENDS.filter(lambda done: done.prompt_tokens > 2))
def test_each_style_is_the_reported_one(done: Done):
    """There is vLLM's `prompt_tokens - 1` (#43370), SGLang's more than the prompt (#25972), null, and the truth."""
    said = {style: reported(done, style).cached_tokens for style in UsageStyle}

    assert said[UsageStyle.COUNTED] == done.cached_tokens
    assert said[UsageStyle.NULL] is None
    assert said[UsageStyle.HANDED_OVER] == done.prompt_tokens - 1
    assert said[UsageStyle.COUNTED_TWICE] > done.prompt_tokens


@pytest.mark.parametrize("style", UsageStyle)
async def test_a_cluster_keeps_its_style_and_counts_it(style: UsageStyle):
    """One style for all answers of a cluster, each counted; what is counted right is no failing."""
    honesty = Honesty(usage_style=style)
    async with running(topology=Topology.AGGREGATED, prefix_cache=True, honesty=honesty) as cluster:
        dones = [(await ask_tokens(cluster, tag, 600)).done for tag in ("amber", "birch", "amber")]
        counters = dict(cluster.counters)

    cached = [done.cached_tokens for done in dones]
    expected = {
        UsageStyle.NULL: [None] * 3,
        UsageStyle.HANDED_OVER: [599] * 3,
        UsageStyle.COUNTED_TWICE: [1_198] * 3,
        UsageStyle.COUNTED: [0, 0, 576],
    }
    assert cached == expected[style]
    counted = {name: count for name, count in counters.items() if name.startswith("usage_") and count}
    assert counted == ({} if style is UsageStyle.COUNTED else {f"usage_{style.value}": 3})


def test_usage_is_counted_by_default():
    """Nothing is reported wrongly unless a lab is told to."""
    assert LabSettings().honesty.usage_style is UsageStyle.COUNTED
