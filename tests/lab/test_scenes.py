import contextlib
import dataclasses

import pytest

from prober.domain.errors import LabError
from prober.lab.limits import largest_input
from prober.lab.scenes import SCENES, stage_scene, with_honest_failings
from prober.lab.settings import Honesty, LabSettings
from prober.lab.usage import UsageStyle


def order(settings: LabSettings) -> tuple[bool, bool]:
    """Whether the prefill refuses what decode would take, and whether it refuses more than the context does."""
    context, prefill, decode = settings.context_tokens, settings.prefill_pool_tokens, settings.decode_pool_tokens
    limits = largest_input(context, prefill), largest_input(context, decode)
    return limits[0] < limits[1], limits[0] < context


def keeps_what_decides(name: str, shrink: int) -> bool:
    """Whether a scene, shrunk, has its own switches and its limits in their own order."""
    full, staged = SCENES[name], stage_scene(name, shrink=shrink, time_scale=0.5)
    switches = [(each.faults, each.fixes, each.router, each.topology) for each in (full, staged)]
    sizes = staged.context_tokens == full.context_tokens // shrink and staged.time_scale == 0.5
    return switches[0] == switches[1] and order(staged) == order(full) and sizes


LARGE = [name for name, scene in SCENES.items() if scene.context_tokens == LabSettings().context_tokens]
LITTLE = [name for name in SCENES if name not in LARGE]


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("shrink", [1, 16, 64])
def test_a_shrunk_scene_keeps_what_decides(name: str, shrink: int):
    """Every scene of the incident's sizes can be shrunk, keeps its switches, and its limits stand in the same order."""
    assert keeps_what_decides(name, shrink)


@pytest.mark.parametrize("name", LITTLE)
@pytest.mark.parametrize("shrink", [1, 2, 16, 64])
def test_a_little_scene_shrinks_soundly_or_not_at_all(name: str, shrink: int):
    """What is little already is refused where nothing would be left, and never becomes another cluster."""
    assert keeps_what_decides(name, 1)
    with contextlib.suppress(LabError):
        assert keeps_what_decides(name, shrink)


def test_a_scene_whose_limits_would_change_places_is_refused(monkeypatch: pytest.MonkeyPatch):
    """Pools that differ by a page are equal at a sixteenth: another cluster than the one asked for."""
    narrow = dataclasses.replace(SCENES["incident"], decode_pool_tokens=681_280 + 64)
    monkeypatch.setattr("prober.lab.scenes.SCENES", {"narrow": narrow})

    assert order(stage_scene("narrow")) == (True, True)
    with pytest.raises(LabError, match="order"):
        stage_scene("narrow", shrink=16)


def test_a_scene_is_staged_as_it_is_by_default():
    """Without wishes, a scene is what its name stands for."""
    assert stage_scene("incident") == SCENES["incident"]


@pytest.mark.parametrize(
    ("name", "shrink", "time_scale", "words"),
    [
        ("nowhere", 1, None, "there are: incident"),
        ("incident", 100_000, None, "cannot be shrunk"),
        ("small-pulling", 16, None, "eight pages"),
        ("fixed", 1, 0.0, "time_scale"),
    ],
)
def test_what_cannot_be_staged_says_why(name: str, shrink: int, time_scale: float | None, words: str):
    """An unknown name, a size without a page or a standing clock is our own error, with its reason."""
    with pytest.raises(LabError, match=words):
        stage_scene(name, shrink=shrink, time_scale=time_scale)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("seed", range(4))
def test_honest_failings_leave_the_cluster_as_it_is(name: str, seed: int):
    """LLM, machine and gateway fall short; sizes, faults, fixes and machinery stay, and every rate is one."""
    plain, honest = SCENES[name], with_honest_failings(SCENES[name], seed)
    kept = {"honesty": plain.honesty, "gateway": plain.gateway, "other_groups": plain.other_groups}
    assert dataclasses.replace(honest, **kept) == plain
    rates = {
        field: getattr(honest.honesty, field)
        for field in (each.name for each in dataclasses.fields(Honesty))
        if field.endswith("_rate") or field.startswith("recall_miss")
    }
    assert all(0 <= rate <= 1 for rate in rates.values())
    assert {field for field, rate in rates.items() if not rate} == {"shuffle_rate"}
    assert honest.gateway.burst_rate > 0
    assert honest.gateway.loss_rate > 0
    # A few seconds at most, whatever the clock.
    assert 0 < honest.honesty.queue_seconds < honest.honesty.slow_tail_seconds <= 3 / plain.time_scale


def test_failings_of_a_scene_stay_where_they_are_worse():
    """An LLM that reasons goes on doing so, and a bad second group is not made better."""
    assert with_honest_failings(SCENES["small-thinking"]).honesty.reasoning_words == 40
    [lite] = SCENES["gateway-groups"].other_groups
    [honest] = with_honest_failings(SCENES["gateway-groups"]).other_groups
    assert honest.honesty.recall_miss_middle == lite.honesty.recall_miss_middle
    assert honest.honesty.copy_error_rate == lite.honesty.copy_error_rate
    assert honest.honesty.refusal_rate > lite.honesty.refusal_rate


def test_each_cluster_has_one_style_of_usage():
    """Four seeds in a row report cached tokens in four ways, all clusters of one lab in the same one."""
    labs = [with_honest_failings(SCENES["gateway-groups"], seed) for seed in range(4)]
    assert {lab.honesty.usage_style for lab in labs} == set(UsageStyle)
    assert all(group.honesty.usage_style is lab.honesty.usage_style for lab in labs for group in lab.other_groups)
