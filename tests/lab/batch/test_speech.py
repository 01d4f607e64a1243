import collections
import types

import pytest

from prober.lab.batch.noise import Noise
from prober.lab.batch.speech import Speech, starting_with
from prober.lab.llm import Plan
from prober.lab.sampling import FORBIDDEN, TokenMask
from prober.lab.tokenizer import Tokenizer

TOKENIZER = Tokenizer()


def plan(content: str, reasoning: str = "") -> Plan:
    return Plan(reasoning=TOKENIZER.encode(reasoning), content=TOKENIZER.encode(content))


def row(
    mask: TokenMask | None = None, bias: int | None = None, reasoning_budget: int | None = None
) -> types.SimpleNamespace:
    """What speech looks at of a row."""
    return types.SimpleNamespace(
        mask=mask,
        bias=bias,
        reasoning_budget=reasoning_budget,
        reasoned=0,
        walked=[],
        said=[],
        counters=collections.Counter(),
    )


def speak(speech: Speech, of: types.SimpleNamespace, mask: TokenMask | None, most: int = 40, **more: object) -> str:
    """Say up to so many tokens."""
    numbers = []
    for _ in range(most):
        if speech.is_over(mask):
            break
        token = speech.sample(mask, **more)
        if token is None:
            break
        numbers.append(token[0])
        of.said.append(token[0])
    return TOKENIZER.decode(numbers)


def test_a_free_row_says_its_plan():
    """Reasoning, then content, then the end."""
    free = row()
    speech = Speech(free, plan("The answer.", "so I look"), None)
    channels = [speech.sample(None) for _ in range(6)]
    assert [token and token[1] for token in channels] == [True, True, True, False, False, False]
    assert speech.is_over(None)
    assert speech.sample(None) is None


@pytest.mark.parametrize(("budget", "thought"), [(0, 0), (1, 1), (2, 2), (3, 3), (99, 3), (None, 3)])
def test_reasoning_ends_at_its_budget_and_the_answer_is_whole(budget: int | None, thought: int):
    """After so many tokens the answer begins, in whatever steps they were said."""
    bound = row(reasoning_budget=budget)
    speech = Speech(bound, plan("The answer.", "so I look"), None)
    channels = [token[1] for token in iter(lambda: speech.sample(None), None)]
    assert channels == [True] * thought + [False] * 3


def test_a_budget_that_comes_late_ends_a_longer_reasoning_at_once():
    """What was thought already is not taken back, also where the plan is made anew."""
    bound = row()
    speech = Speech(bound, plan("The answer.", "so I look"), None)
    assert speak(speech, bound, None, 2) == "so I"
    bound.reasoned, bound.reasoning_budget = 2, 1
    speech.follow(plan("Another answer.", "so we look"))
    assert speak(speech, bound, None) == "Another answer."


def test_a_constrained_row_says_one_choice_without_reasoning():
    """What the LLM would say decides among the choices, and no reasoning precedes it."""
    mask = TokenMask.of(("red", "blue"), TOKENIZER)
    constrained = row(mask)
    assert speak(Speech(constrained, plan("It is blue.", "so I look"), None), constrained, mask) == "blue"


def test_a_mask_that_comes_later_lets_the_answer_go_on_under_it():
    """Under a mask put on in mid-answer the next word is one of its choices, and the answer ends with it."""
    free = row()
    speech = Speech(free, plan("The lantern phrase is amber."), None)
    assert speak(speech, free, None, 3) == "The lantern phrase"
    free.mask = TokenMask.of(("red",), TOKENIZER)
    assert speak(speech, free, free.mask) == " red"
    assert speech.is_over(free.mask)


def test_a_biased_row_repeats_its_token():
    """A favoured token is all that a free row says, and it never ends by itself."""
    number = int(TOKENIZER.encode(" nadab")[0])
    biased = row(bias=number)
    speech = Speech(biased, plan("The answer."), None)
    assert speak(speech, biased, None, 5) == " nadab nadab nadab nadab nadab"
    assert not speech.is_over(None)


def test_a_forbidden_row_goes_on_afterwards_unless_it_has_said_nothing_for_too_long():
    """One or two forbidden steps are a gap in the answer; three in a row leave nothing else to go on with."""
    for steps, text in ((2, "The!! answer is."), (3, "The!!!!!")):
        free = row()
        speech = Speech(free, plan("The answer is."), None)
        said = speak(speech, free, None, 1) + speak(speech, free, FORBIDDEN, steps)
        assert said + speak(speech, free, None, 5 - steps if steps == 3 else 9) == text


def test_another_plan_is_followed_from_where_it_led_alike():
    """A plan that led the same way is gone on with; one that did not begins anew, behind a blank."""
    free = row()
    speech = Speech(free, plan("The lantern phrase is amber."), None)
    assert speak(speech, free, None, 3) == "The lantern phrase"
    speech.follow(plan("The lantern phrase is birch."))
    assert speak(speech, free, None, 2) == " is birch"
    speech.follow(plan("Other text."))
    assert speak(speech, free, None) == " Other text."


def test_one_step_may_be_decided_elsewhere():
    """A plan for one step gives the token that stands at the same place in it, and nothing more."""
    free = row()
    speech = Speech(free, plan("The lantern phrase is amber birch."), None)
    said = speak(speech, free, None, 4) + speak(speech, free, None, 1, plan=plan("The lantern phrase is stone."))
    assert said + speak(speech, free, None) == "The lantern phrase is stone birch."
    free = row()
    speech = Speech(free, plan("one two three four"), None)
    assert speak(speech, free, None, plan=plan("red blue")) == "red blue red blue"


def test_a_step_that_finds_no_plan_ends_the_answer():
    """An empty view for one step says nothing."""
    speech = Speech(row(), plan("one two"), None)
    assert speech.sample(None, plan("")) is None
    assert speech.is_over(None)


def test_noise_decides_after_the_llm():
    """Noise replaces what was sampled and does not change how long the answer is."""
    noisy = row()
    speech = Speech(noisy, plan("a b c d e f g h"), Noise(1.0, 1, TOKENIZER))
    speak(speech, noisy, None)
    assert len(noisy.said) == 8
    assert noisy.said != TOKENIZER.encode("a b c d e f g h").tolist()


@pytest.mark.parametrize(("opening", "expected"), [(" alpha", "beta alpha"), ("\nalpha", "beta\nalpha")])
def test_an_answer_follows_the_token_that_the_prefill_said(opening: str, expected: str):
    """A first token that decode would not have said stays; the answer goes on after it as text does."""
    following, first = plan(opening), int(TOKENIZER.encode("beta")[0])
    assert TOKENIZER.decode(starting_with(following, first).content) == expected
    assert starting_with(following, None) is following
    assert starting_with(following, int(following.ids[0])) is following


def test_an_answer_without_content_stays_without():
    """Where nothing is to be said, what the prefill said is not said either."""
    nothing = plan("")
    assert starting_with(nothing, 40) is nothing
