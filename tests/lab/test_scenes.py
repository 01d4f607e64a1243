import pytest

from prober.domain.errors import LabError
from prober.lab.limits import largest_input
from prober.lab.scenes import SCENES, stage_scene


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("shrink", [1, 16, 64])
def test_a_shrunk_scene_keeps_what_decides(name: str, shrink: int):
    """Every scene can be shrunk, keeps its switches, and its limits stand in the same order."""
    full, staged = SCENES[name], stage_scene(name, shrink=shrink, time_scale=0.5)
    assert (staged.faults, staged.fixes, staged.router, staged.topology) == (
        full.faults,
        full.fixes,
        full.router,
        full.topology,
    )
    assert staged.time_scale == 0.5

    def order(settings: object) -> tuple[bool, bool]:
        context, prefill, decode = settings.context_tokens, settings.prefill_pool_tokens, settings.decode_pool_tokens
        limits = largest_input(context, prefill), largest_input(context, decode)
        return limits[0] < limits[1], limits[0] < context

    assert order(staged) == order(full)
    assert staged.context_tokens == full.context_tokens // shrink


def test_a_scene_is_staged_as_it_is_by_default():
    """Without wishes, a scene is what its name stands for."""
    assert stage_scene("incident") == SCENES["incident"]


@pytest.mark.parametrize(
    ("name", "shrink", "time_scale", "words"),
    [
        ("nowhere", 1, None, "there are: incident"),
        ("incident", 100_000, None, "cannot be shrunk"),
        ("fixed", 1, 0.0, "time_scale"),
    ],
)
def test_what_cannot_be_staged_says_why(name: str, shrink: int, time_scale: float | None, words: str):
    """An unknown name, a size without a page or a standing clock is our own error, with its reason."""
    with pytest.raises(LabError, match=words):
        stage_scene(name, shrink=shrink, time_scale=time_scale)
