from collections.abc import Sequence

import pytest

from prober.lab.batch.transcript import TokenTexts, Transcript
from prober.lab.events import Chunk
from prober.lab.tokenizer import PADDING, Tokenizer

TOKENIZER = Tokenizer()
TEXT = "The lantern phrase is amber."


def tokens(text: str, *, is_reasoning: bool = False) -> list[tuple[int, bool]]:
    return [(int(number), is_reasoning) for number in TOKENIZER.encode(text)]


def written(steps: Sequence[list[tuple[int, bool]]], *, wants_logprobs: bool = False) -> list[Chunk]:
    transcript = Transcript(TokenTexts(TOKENIZER), 1, wants_logprobs=wants_logprobs)
    return [chunk for step in steps for chunk in transcript.chunks(step, step)]


@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_chunks_add_up_to_the_text(size: int):
    """However many tokens a step has, the chunks read on as one text, without a leading blank."""
    said = tokens(f" {TEXT}")
    chunks = written([said[start : start + size] for start in range(0, len(said), size)])
    assert "".join(chunk.content for chunk in chunks) == TEXT
    assert len(chunks) == -(-len(said) // size)


def test_each_channel_begins_without_a_blank():
    """Reasoning and content of one step become a chunk each; both begin at a word."""
    step = [*tokens(" so I look", is_reasoning=True), *tokens(" The answer")]
    assert written([step]) == [Chunk(reasoning="so I look"), Chunk(content="The answer")]


def test_log_probabilities_tell_of_each_content_token():
    """Log probabilities come on request only, one per content token, at most 0, and their texts add up."""
    steps = [tokens("hm", is_reasoning=True), tokens(f" {TEXT}")]
    assert all(not chunk.logprobs for chunk in written(steps))
    logprobs = [entry for chunk in written(steps, wants_logprobs=True) for entry in chunk.logprobs]
    assert "".join(entry.text for entry in logprobs) == TEXT
    assert all(-5 < entry.logprob <= 0 for entry in logprobs)
    assert len({entry.logprob for entry in logprobs}) > 1


def test_log_probabilities_stay_with_what_was_sampled():
    """A token that was exchanged on its way shows in the text; the log probabilities tell of the sampled one."""
    transcript = Transcript(TokenTexts(TOKENIZER), 1, wants_logprobs=True)
    transcript.chunks(tokens("The"), tokens("The"))
    (chunk,) = transcript.chunks(tokens(" other"), tokens(" own"))
    assert (chunk.content, chunk.logprobs[0].text) == (" other", " own")


def test_tokens_without_text_make_no_chunk():
    """No chunk is ever empty; cleared memory does have a text."""
    assert written([[(2, False)], []]) == []
    assert written([[(PADDING, False)]]) == [Chunk(content="!")]
