"""K16: a long prompt without its beginning."""

import dataclasses

from prober.lab.events import Done
from prober.lab.gateway.gateway import Gateway
from prober.lab.scenes import SCENES
from prober.lab.settings import LabSettings
from tests.support.cluster import prompt
from tests.support.echo_cluster import Heard, a_request, ask, fronted
from tests.support.faulty_gateway import BOTH, strikes

NAME = "head_dropped"
SMALL = SCENES["gateway"]
WINDOW = SMALL.context_tokens // 2


def lab(*, is_fixed: bool = False) -> LabSettings:
    fixes = frozenset({"prompts_kept_whole"}) if is_fixed else frozenset()
    return dataclasses.replace(SMALL, faults={NAME: 1.0}, fixes=fixes)


async def asked(gateway: Gateway, tokens: int) -> Heard:
    text = prompt("amber", tokens, gateway.backends[0].cluster.tokenizer)
    return await ask(gateway, dataclasses.replace(a_request(text=text), max_tokens=64))


@BOTH
async def test_the_beginning_is_gone_and_the_count_shows_it(*, is_fixed: bool):
    """Above the window: 200, the first needle unknown, the last one known, usage of the window's size."""
    async with fronted(lab(is_fixed=is_fixed)) as gateway:
        heard = await asked(gateway, 6_000)
        assert strikes(gateway) == (0 if is_fixed else 1)
    assert isinstance(heard.last, Done)
    assert heard.last.prompt_tokens == (6_000 if is_fixed else WINDOW)
    assert ("The harbour phrase is amber one two" in heard.text) is is_fixed
    assert "The lantern phrase is amber three four" in heard.text
    assert heard.head.service.tokens_dropped == (0 if is_fixed else 6_000 - WINDOW)


@BOTH
async def test_what_must_be_refused_is_served(*, is_fixed: bool):
    """A prompt above the context is no longer refused, for it never reaches the backend whole."""
    async with fronted(lab(is_fixed=is_fixed)) as gateway:
        heard = await asked(gateway, 9_000)
    assert isinstance(heard.last, Done) is not is_fixed


async def test_short_prompts_stay_whole():
    """Up to the window nothing happens."""
    async with fronted(lab()) as gateway:
        heard = await asked(gateway, WINDOW)
        assert strikes(gateway) == 0
    assert heard.last.prompt_tokens == WINDOW


async def test_at_a_rate_some_prompts_are_cut():
    """The rate is the share of long prompts; the others are served whole."""
    async with fronted(dataclasses.replace(SMALL, faults={NAME: 0.5})) as gateway:
        told = [(await asked(gateway, 5_000)).last.prompt_tokens for _ in range(12)]
        assert strikes(gateway) == told.count(WINDOW)
    assert set(told) == {WINDOW, 5_000}
