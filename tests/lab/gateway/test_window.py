"""The gateway's window."""

import collections
import dataclasses
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.lab.dice import Dice
from prober.lab.events import Chunk, Done
from prober.lab.gateway.window import Passage, Window
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.seams import Seams
from prober.lab.tokenizer import TEMPLATE_TOKENS, Tokenizer
from tests.support.cluster import SMALL
from tests.support.echo_cluster import a_request

DICE = Dice({}, 0, collections.Counter())
WINDOW = 100
LAB = dataclasses.replace(SMALL, gateway=GatewaySettings(window_tokens=WINDOW))


class Cutting(Seams):
    CUTS_PROMPTS: ClassVar[bool] = True

    def __init__(self, *, is_head: bool) -> None:
        super().__init__(DICE)
        self.is_head = is_head
        self.asked: list[int] = []

    def drops_head(self, number: int) -> bool:
        self.asked.append(number)
        return self.is_head

    def drops_tail(self, number: int) -> bool:
        return not self.is_head


def words(count: int) -> str:
    return " ".join(f"w{index}" for index in range(count))


async def test_the_right_window_lets_every_prompt_through():
    """A prompt of any length is sent on as it is, and counted by the backend."""
    asked = a_request(text=words(5_000))
    assert await Window(LAB, Seams(DICE)).pass_through(1, asked) == Passage(request=asked)


@pytest.mark.parametrize("count", [1, WINDOW - TEMPLATE_TOKENS])
async def test_what_fits_is_never_cut(count: int):
    """Up to the window's size nothing happens, and no decision is asked for."""
    seams = Cutting(is_head=True)
    asked = a_request(text=words(count))
    assert await Window(LAB, seams).pass_through(1, asked) == Passage(request=asked)
    assert seams.asked == []


async def test_a_dropped_head_leaves_the_end_and_an_honest_count():
    """The oldest words go, to the token; the count is left to the backend, which sees the rest only."""
    passage = await Window(LAB, Cutting(is_head=True)).pass_through(1, a_request(text=words(200)))
    kept = passage.request.messages[0][1].split()
    assert kept == words(200).split()[-(WINDOW - TEMPLATE_TOKENS) :]
    assert passage.tokens_dropped == 200 + TEMPLATE_TOKENS - WINDOW
    assert passage.told(done(7)) == done(7)


async def test_a_dropped_tail_leaves_the_beginning_and_a_full_count():
    """The last words go, to the token; the client is told the count of the whole prompt."""
    passage = await Window(LAB, Cutting(is_head=False)).pass_through(1, a_request(text=words(200)))
    kept = passage.request.messages[0][1].split()
    assert kept == words(200).split()[: WINDOW - TEMPLATE_TOKENS]
    assert passage.told(done(7)) == done(200 + TEMPLATE_TOKENS)
    assert passage.told(Chunk(content="x")) == Chunk(content="x")


async def test_half_of_the_context_is_the_window_where_none_is_set():
    """Without a size of its own the window is half of what the backends promise."""
    lab = dataclasses.replace(LAB, gateway=GatewaySettings())
    passage = await Window(lab, Cutting(is_head=True)).pass_through(1, a_request(text=words(10_000)))
    assert passage.tokens_dropped == 10_000 + TEMPLATE_TOKENS - lab.context_tokens // 2


@given(sizes=st.lists(st.integers(0, 120), min_size=1, max_size=5), is_head=st.booleans())
async def test_a_cut_leaves_the_windows_size(sizes: list[int], *, is_head: bool):
    """However a conversation is split into messages, what is left counts exactly the window, roles unchanged."""
    messages = tuple(("user" if index % 2 else "assistant", words(size)) for index, size in enumerate(sizes))
    asked = dataclasses.replace(a_request(), messages=messages)
    passage = await Window(LAB, Cutting(is_head=is_head)).pass_through(1, asked)
    counted = len(Tokenizer().encode_chat(messages))
    left = len(Tokenizer().encode_chat(passage.request.messages))
    frame = counted - sum(sizes)
    assert left == max(min(counted, WINDOW), frame)
    assert [role for role, _ in passage.request.messages] == [role for role, _ in messages]


def done(tokens: int) -> Done:
    return Done(finish_reason="stop", prompt_tokens=tokens, completion_tokens=1)
