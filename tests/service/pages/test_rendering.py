"""How figures and dates are written, and that nothing of others becomes markup."""

import dataclasses
import datetime as dt

import pytest

from prober.domain.account import Scope
from prober.service.pages.rendering import ago, moment, number
from tests.support.pages import PAGES, Pages, end, found_leak
from tests.support.reports import a_campaign, a_leak, a_report

NOON = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)
SCRIPT = "</p><script>alert(1)</script>"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (3_599, "59 minutes ago"),
        (7_200, "2 hours ago"),
        (86_400 * 3, "3 days ago"),
        (-30, "within a minute"),
        (-60, "in 1 minute"),
        (-86_400, "in 1 day"),
    ],
)
def test_dates_are_told_in_their_largest_unit(seconds: int, words: str):
    """Before and after now."""
    assert ago(NOON - dt.timedelta(seconds=seconds), NOON) == words


def test_dates_are_in_utc_for_people_and_machines():
    """Whatever zone they come in."""
    berlin = dt.timezone(dt.timedelta(hours=2))
    assert (
        moment(NOON.astimezone(berlin)) == '<time datetime="2026-09-01T12:00:00+00:00">2026-09-01 12:00:00 UTC</time>'
    )


def test_what_is_not_known_is_left_empty():
    """Zero is known."""
    assert (number(None), number(0), number(1_048_576)) == ("", "0", "1,048,576")


async def test_nothing_of_others_becomes_markup(pages: Pages):
    """Names of models and builds, facts of rollouts, notes, the target's own words: all stay text."""
    campaign = a_campaign()
    hostile = {"build": SCRIPT, "model": SCRIPT}
    campaign = dataclasses.replace(campaign, target=dataclasses.replace(campaign.target, **hostile))
    run = await found_leak(pages, campaign=campaign, facts={SCRIPT: SCRIPT})
    report = a_report(findings=(a_leak(message=SCRIPT),))
    await end(pages, run, report)
    visitor = await pages.visitor(Scope.READ, Scope.ADMIN, Scope.VAULT)
    for step in ("note", "acknowledge", "resolve"):
        await visitor.send(f"/ui/issues/1/{step}", note=SCRIPT)
    seen = ""
    for path in (*PAGES, "/ui/runs?target=%3Cscript%3E", "/ui/login?next=/ui/%3Cscript%3E"):
        seen += (await visitor.get(path)).text
    assert "<script>alert" not in seen
    assert "&lt;script&gt;alert(1)" in seen
