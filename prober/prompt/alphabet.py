"""The 2,048 four-letter words that canary text is made of, and how common each is in ordinary language.

Each word is one token, with its leading space, in six tokenizers (deepseek_v3, qwen3, llama3, gpt4o, gpt-oss, gemma3).
"""

import importlib.resources
import json
from typing import Final

import numpy as np
import numpy.typing as npt

SYMBOLS: Final = 2048
SYMBOL_BITS: Final = 11
WORD_LETTERS: Final = 4


def _data(name: str) -> str:
    return importlib.resources.files("prober.prompt").joinpath("data", name).read_text(encoding="utf-8")


WORDS: Final[tuple[str, ...]] = tuple(json.loads(_data("filler_words_2048.json")))


def _letter_codes() -> npt.NDArray[np.int32]:
    letters = np.frombuffer("".join(WORDS).encode("ascii"), np.uint8).reshape(SYMBOLS, WORD_LETTERS)
    return letters.astype(np.int32) - ord("a")


def _index() -> npt.NDArray[np.int16]:
    codes = _letter_codes() @ np.array([26**3, 26**2, 26, 1], np.int32)
    index = np.full(26**WORD_LETTERS, -1, np.int16)
    index[codes] = np.arange(SYMBOLS)
    index.flags.writeable = False
    return index


def _cells() -> npt.NDArray[np.uint8]:
    cells = np.full((SYMBOLS, WORD_LETTERS + 1), ord(" "), np.uint8)
    cells[:, :WORD_LETTERS] = _letter_codes() + ord("a")
    cells.flags.writeable = False
    return cells


def _base_rates() -> npt.NDArray[np.float64]:
    per_million: dict[str, int] = json.loads(_data("base_rates.json"))
    counted = np.array([per_million.get(word, 0) for word in WORDS]) / 1e6
    rates = np.maximum(1 / SYMBOLS, BASE_RATE_MARGIN * counted)
    rates.flags.writeable = False
    return rates


BASE_RATE_MARGIN: Final = 4
"""Ordinary texts differ from the counted ones: a word may be this many times more common before a bound breaks."""

INDEX: Final = _index()
"""Four letters as a base-26 number -> word number, or -1; shape (456976,)."""
CELLS: Final = _cells()
"""Word number -> its letters and a space in ASCII; shape (2048, 5)."""
BASE_RATES: Final = _base_rates()
"""Upper bound of each word's share among alphabet words of ordinary language or of random salad; shape (2048,).

The larger of 1/2048 and four times the share counted in reference prose (data/NOTICE says which).
"""
