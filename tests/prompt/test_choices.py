"""Choices of live probes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.prompt.choices import ChoiceIndex, trimmed

OWN, OTHER, THIRD = (Canary.of(tenant, 0, 9) for tenant in (1, 2, 3))


def holding(*choices: str, canary: Canary = OTHER) -> ChoiceIndex:
    index = ChoiceIndex()
    index.remember(canary, choices)
    return index


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("crimson", ["crimson"]),
        ("crimson and more", ["crimson"]),
        ("crimson.", ["crimson"]),
        ("crimson red", ["crimson red", "crimson"]),
        ("crimsons", []),
        ("Crimson", []),
        ("a crimson", []),
        ("", []),
    ],
)
def test_an_answer_is_or_begins_with_a_choice(content: str, found: list[str]):
    """Whole words at the very beginning count, the longest choice first; nothing else does."""
    assert list(holding("crimson", "crimson red", "").begun(content, OWN)) == found


def test_own_choices_are_nobody_elses():
    """What only the answering probe may answer is not reported; what another may too, is."""
    index = holding("crimson", canary=OWN)
    assert list(index.begun("crimson", OWN)) == []
    index.remember(OTHER, ["crimson"])
    assert list(index.begun("crimson", OWN)) == ["crimson"]


@pytest.mark.parametrize("content", [' "crimson"\n', "'crimson'", "crimson"])
def test_quotes_and_white_space_go(content: str):
    """A choice that comes as a JSON string is the choice."""
    assert trimmed(content) == "crimson"


@settings(max_examples=100, derandomize=True)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([OWN, OTHER, THIRD]), st.lists(st.sampled_from(["aa", "bb", "cc", "ddd"]), max_size=3)
        ),
        max_size=12,
    )
)
def test_what_is_forgotten_is_not_found(steps: list[tuple[Canary, list[str]]]):
    """The latest choices of each probe are held, however often they change; forgetting all leaves nothing."""
    index, held = ChoiceIndex(), {}
    for canary, choices in steps:
        index.remember(canary, choices)
        held[canary] = set(choices)
    for choice in ("aa", "bb", "cc", "ddd"):
        expected = [choice] if any(choice in mine for canary, mine in held.items() if canary != OWN) else []
        assert list(index.begun(choice, OWN)) == expected
    for canary in held:
        index.forget(canary)
    assert not index._owners
    assert not index._lengths
