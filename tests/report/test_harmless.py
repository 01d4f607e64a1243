"""Strings of the remote's, made fit to be shown."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from prober.report.harmless import harmless, harmless_throughout
from tests.support.reports import a_leak, a_probe_summary, a_report, a_trace

HOSTILE = "\x1b[2Jgone\r\n\u202eevil\ud800\x00\ufffe"


@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_comes_out_on_one_line_and_printable(text: str):
    """No control, no line end, no lone surrogate, and ordinary text as it was."""
    shown = harmless(text)

    assert shown.encode("utf-8").decode() == shown
    assert not set(shown) & {"\n", "\r", "\x1b", "\x00", "\x9b", "\u2028", "\u202e"}
    assert harmless(shown) == shown
    if text.isprintable():
        assert shown == text


def test_every_string_of_a_report_is_covered():
    """Labels, messages, headers, ids, facts: wherever a string stands, it is made harmless."""
    trace = a_trace(headers={HOSTILE: HOSTILE}, model_reported=HOSTILE, finish_reason=HOSTILE, response_id=HOSTILE)
    report = a_report(
        probes=(a_probe_summary(tenant=HOSTILE, request_id=HOSTILE, trace=trace),),
        findings=(a_leak(message=HOSTILE, detector=HOSTILE),),
        tenant_names={1: HOSTILE},
    )
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, facts={HOSTILE: HOSTILE}))
    shown = repr(harmless_throughout(report))

    assert "\\x1b[2Jgone" in shown.replace("\\\\", "\\")
    assert not set(shown) & set("\x1b\r\n\u202e\ud800\x00\ufffe")


def test_what_is_harmless_is_not_copied():
    """A report of a hundred thousand strings costs no second one."""
    report = a_report()

    assert harmless_throughout(report.probes) is report.probes
    assert harmless_throughout(report) == report
