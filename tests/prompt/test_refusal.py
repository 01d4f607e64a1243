"""Refusal templates."""

import pytest

from prober.prompt.refusal import is_refusal_like


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I\u2019m sorry, I cannot help.",
        "  \n I AM UNABLE to access the document.",
        "Unfortunately, I can't copy this text.",
        "As an AI language model, I don't have personal phrases.",
        "I do not see any document in your message.",
        "It looks like your message got cut off.",
        "Your input is too long for me.",
        "There was no document provided.",
        "Lo siento, no puedo ayudar con eso.",
        "Je suis d\u00e9sol\u00e9, je ne peux pas.",
        "Je suis de\u0301sole\u0301e.",
        "Es tut mir leid, das geht nicht.",
        "Ich kann dir dabei nicht helfen.",
        "Desculpe, n\u00e3o posso.",
        "Mi dispiace.",
        "\u5f88\u62b1\u6b49\uff0c\u6211\u65e0\u6cd5\u5b8c\u6210\u3002",
        "\u7533\u3057\u8a33\u3042\u308a\u307e\u305b\u3093",
        "\uc8c4\uc1a1\ud569\ub2c8\ub2e4",
    ],
)
def test_templates_of_honest_llms_are_refusals(text: str):
    """Safety and inability templates are recognised in several languages, whatever the apostrophe and case."""
    assert is_refusal_like(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "able acid acts",
        "The harbour phrase is able acid acts. The lantern phrase is arab arch aunt.",
        "Dear Mrs Hoffmann, thank you for your enquiry about the invoice.",
        "able acid " * 40 + "I'm sorry, I cannot help.",
        "The Mumbai cannot-do list",
        "hi am sorry-looking",
    ],
)
def test_other_texts_are_not(text: str):
    """Recall, filler, letters and apologies deep in a text are no refusals."""
    assert not is_refusal_like(text)
