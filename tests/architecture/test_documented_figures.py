"""The figures that docs/how-it-works.md states are the code's own."""

import pytest

from prober.detect.detectors.foreign_canary import WARN_BITS
from prober.detect.detectors.foreign_text import LEAST_NOVELTY, LEAST_WORDS
from prober.detect.recall import LEAST_PASS_RATE, LEAST_PASSES, RECALL_CUSUM
from prober.domain.canary import Canary
from prober.domain.observation import Timeline
from prober.domain.probe import PromptSpec
from prober.domain.target import TextForm
from prober.prompt import line_code, stream_code
from prober.prompt.composer import compose
from prober.prompt.decoder import scan
from prober.prompt.donor_index import FRAGMENT_DONORS
from prober.prompt.keyring import Keyring
from prober.prompt.numbered_lines import SLICE_WORDS, SLICES
from prober.prompt.sightings import PAGE_BITS
from prober.prompt.tokens import TOLERANCE_TOKENS, calibration_specs
from prober.stats.bounds import leak_rate_upper95, probes_needed
from prober.stats.prefill import LEAST_TIMINGS, SLACK
from tests.support.markdown import document, rows, section

HOW = document("docs/how-it-works.md")


def characters_for(words: int) -> int:
    """Characters that hold so many whole words of four letters wherever they are cut out of a line."""
    return words * 5 - 1 + 4


FIGURES = {
    "code window": f"{stream_code.PERIOD + stream_code.SYNC_WORDS} words, found in any "
    f"{characters_for(stream_code.PERIOD + stream_code.SYNC_WORDS)} consecutive characters",
    "live window": f"7 words, {characters_for(7)} characters",
    "tag": f"{stream_code.TAG_BITS}-bit tag",
    "false attribution": f"{stream_code.PERIOD * 2.0**-stream_code.TAG_BITS:.1e}",
    "line tag": f"{line_code.TAG_BITS}-bit tag",
    "line counters": f"{line_code.LINE_COUNTERS} codes",
    "slices": f"{SLICES} slices of {SLICE_WORDS} words",
    "fragment donors": f"latest {FRAGMENT_DONORS} prompts",
    "page": f"{PAGE_BITS:.0f} bits",
    "warn": f"{WARN_BITS:.0f} bits",
    "novelty": f"{LEAST_NOVELTY:.0%}".replace("%", " %"),
    "novel words": f"{LEAST_WORDS} words",
    "alarm": f"{RECALL_CUSUM.failures_to_alarm} failures in a row",
    "proof": f"{LEAST_PASSES} times, and in {LEAST_PASS_RATE:.0%}".replace("%", " %"),
    "calibration": f"{len(calibration_specs(TextForm.WORD_STREAM))} small calls",
    "tolerance": f"{TOLERANCE_TOKENS} tokens",
    "slack": f"{SLACK} * (a + ",
    "timings": f"at least {LEAST_TIMINGS} timings",
    "lag": f"{Timeline.MAX_TRUSTED_LAG_SECONDS * 1000:.0f} ms",
}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_the_codes_own(figure: str):
    """A bound that the document states is computed from the constants that are in force."""
    assert FIGURES[figure] in " ".join(HOW.split())


def test_any_cut_of_a_prompt_names_its_probe():
    """58 characters of a line suffice wherever they are cut out, and 59 across the end of one."""
    keyring, canary = Keyring.create(bytes(range(32))), Canary.of(5, 0, 99)
    text = compose(PromptSpec(filler_lines=40), canary, keyring, None).text
    filler = text[text.index("\n ") + 1 : text.index("The orchard")]
    assert len(filler) > 1_000

    for start in range(0, len(filler) - 59, 7):
        line_end = filler.find("\n", start, start + 58)
        cut = filler[start : start + (58 if line_end < 0 else 59)]
        assert [window.canary for window in scan(cut, keyring)] == [canary], cut


def test_the_table_of_bounds_is_computed():
    """Probes needed per leak rate are those that the statistics give."""
    table = rows(section(HOW, "## What a clean run bounds"))

    assert len(table) > 3
    for rate, *counts in table:
        share = float(rate.removesuffix(" %")) / 100
        needed = [probes_needed(share, confidence) for confidence in (0.95, 0.99, 0.999)]
        assert [int(count.replace(",", "")) for count in counts] == needed
        assert leak_rate_upper95(needed[0]) <= share < leak_rate_upper95(needed[0] - 1)
