"""Honest answers that are no answer: safety and inability templates, which read like foreign text but are none."""

import re
import unicodedata
from typing import Final

_OPENING_CHARACTERS: Final = 200
"""A refusal says so at once; the same words deep in a text are somebody's letter."""

_TEMPLATES: Final = (
    r"i'm sorry",
    r"i am sorry",
    r"i apologi[sz]e",
    r"my apologies",
    r"sorry, (?:but )?i",
    r"(?:i|we) (?:cannot|can't|can not|could not|couldn't|won't|will not)",
    r"(?:i'm|i am) (?:unable|not able|not allowed|not permitted)",
    r"as an? (?:ai|artificial|large language)",
    r"i'm (?:just )?an ai",
    r"i do(?:n't| not) (?:see|have (?:access|any|the|enough))",
    r"(?:is|was) no (?:document|text) (?:provided|attached|given)",
    r"(?:your|the) (?:message|input|text|document|prompt) (?:is|was|got|seems)(?: to be)? (?:cut|trunc|too long|empty)",
    r"lo siento",
    r"no puedo",
    r"je suis désolée?",
    r"je ne (?:peux|suis) pas",
    r"es tut mir leid",
    r"ich kann (?:\w+ ){0,3}nicht",
    r"(?:me )?desculpe",
    r"não posso",
    r"mi dispiace",
    r"抱歉",
    r"对不起",
    r"我(?:无法|不能)",
    r"申し訳",
    r"죄송",
)
"""Openings of refusals in English, Spanish, French, German, Portuguese, Italian, Chinese, Japanese and Korean."""

_REFUSAL: Final = re.compile("|".join(rf"(?<!\w){t}" if t.isascii() else t for t in _TEMPLATES))
_APOSTROPHES: Final = str.maketrans("\u2018\u2019\u02bc\uff07`", "'''''")


def is_refusal_like(text: str) -> bool:
    """Tell whether `text` opens like an honest LLM that declines or cannot."""
    opening = unicodedata.normalize("NFC", text.lstrip()[:_OPENING_CHARACTERS]).translate(_APOSTROPHES).lower()
    return _REFUSAL.search(opening) is not None
