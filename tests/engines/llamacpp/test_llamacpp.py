"""A real server that none of us wrote."""

import pathlib

import pytest

from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from tests.engines.llamacpp.probe import CONTEXT_TOKENS, probe
from tests.engines.llamacpp.server import is_installed

ATTEMPTS = 3


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_real_server_is_clean_and_its_limit_is_met_to_the_token(tmp_path: pathlib.Path):
    """Healthy llama.cpp is CLEAN under both scenarios: served up to one below its context, refused from there.

    An LLM of 135M parameters now and then forgets a phrase, which makes a run INCONCLUSIVE, and rightly: then it is run
    again. Nothing else may be anything but clean in any run.
    """
    assert is_installed(), "llama.cpp's server is not there; run `make engine-llamacpp-install`, as `make test` does"

    outcomes = []
    for number in range(ATTEMPTS):
        folder = tmp_path / str(number)
        folder.mkdir()
        report = await probe(folder)
        outcomes.append(report.verdict.outcome)
        judged = [finding for finding in report.findings if finding.reason is not Reason.RECALL_MISSED]
        assert {finding.outcome for finding in judged} == {Outcome.CLEAN}, judged
        assert report.limits.largest_served == CONTEXT_TOKENS - 1
        assert report.limits.smallest_rejected == CONTEXT_TOKENS
        assert report.limits.first_wrong is None
        assert {one.answer for one in report.probes} == {Answer.SERVED_FULL, Answer.REJECTED_OK}
        if report.verdict.outcome is Outcome.CLEAN:
            return
    pytest.fail(f"not once CLEAN: {outcomes}")
