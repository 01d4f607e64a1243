"""K16: a long prompt without its end."""

import dataclasses

from prober.lab.events import Done
from prober.lab.scenes import SCENES
from tests.support.cluster import prompt
from tests.support.echo_cluster import a_request, ask, fronted
from tests.support.faulty_gateway import BOTH, strikes

NAME = "tail_dropped"
SMALL = SCENES["gateway"]


@BOTH
async def test_the_question_is_gone_and_the_count_hides_it(*, is_fixed: bool):
    """Above the window: 200, the question ignored, no needle told, and usage as if all had been read."""
    fixes = frozenset({"prompts_kept_whole"}) if is_fixed else frozenset()
    async with fronted(dataclasses.replace(SMALL, faults={NAME: 1.0}, fixes=fixes)) as gateway:
        text = prompt("amber", 6_000, gateway.backends[0].cluster.tokenizer)
        heard = await ask(gateway, dataclasses.replace(a_request(text=text), max_tokens=64))
        assert strikes(gateway) == (0 if is_fixed else 1)
    assert isinstance(heard.last, Done)
    assert heard.last.prompt_tokens == 6_000
    assert heard.text
    for phrase in ("The harbour phrase is amber one two", "The lantern phrase is amber three four"):
        assert (phrase in heard.text) is is_fixed
    assert heard.head.service.tokens_dropped == (0 if is_fixed else 6_000 - SMALL.context_tokens // 2)
