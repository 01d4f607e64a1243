"""A real server that none of us wrote."""

import pathlib

import pytest

from prober.domain.evidence import Answer
from prober.domain.outcome import Outcome
from tests.engines.llamacpp.probe import CONTEXT_TOKENS, probe
from tests.engines.llamacpp.server import is_installed


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_real_server_is_clean_and_its_limit_is_met_to_the_token(tmp_path: pathlib.Path):
    """Healthy llama.cpp is CLEAN under both scenarios: served up to one below its context, refused from there."""
    assert is_installed(), "llama.cpp's server is not there; run `make engine-llamacpp-install`, as `make test` does"

    report = await probe(tmp_path)

    assert report.verdict.outcome is Outcome.CLEAN, [f for f in report.findings if f.outcome is not Outcome.CLEAN]
    assert report.limits.largest_served == CONTEXT_TOKENS - 1
    assert report.limits.smallest_rejected == CONTEXT_TOKENS
    assert report.limits.first_wrong is None
    assert {one.answer for one in report.probes} == {Answer.SERVED_FULL, Answer.REJECTED_OK}
