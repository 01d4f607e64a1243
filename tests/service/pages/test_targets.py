"""A target's limits over time, and what it was probed for."""

import json
import re
from html import unescape

from prober.domain.fault_kind import FaultKind
from prober.service.pages.targets import chart_of
from prober.store.page_lookups import LimitPoint
from tests.support.pages import Pages, at, end, found_leak


def point(number: int, **limits: int | None) -> LimitPoint:
    found = dict.fromkeys(("prefill_pool_tokens", "largest_served", "smallest_rejected", "first_wrong")) | limits
    return LimitPoint(run_id=f"run-{number}", started_at=at(number), context_tokens=1_000, **found)


def test_the_chart_has_a_line_for_each_limit_that_is_known():
    """Gaps stay gaps; what no run found has no line."""
    chart = chart_of([point(0, largest_served=500), point(1, largest_served=510, first_wrong=700)])
    assert [line["label"] for line in chart["lines"]] == [
        "context advertised",
        "largest served soundly",
        "first served wrongly",
    ]
    assert chart["data"] == [[at(0).timestamp(), at(1).timestamp()], [1_000, 1_000], [500, 510], [None, 700]]


async def test_limits_stand_in_chart_and_table_alike(pages: Pages):
    """Who has no scripts reads the same figures."""
    await end(pages, await found_leak(pages))
    text = (await (await pages.visitor()).get("/ui/targets/staging")).text
    (found,) = re.findall(r'data-chart="([^"]*)"', text)
    chart = json.loads(unescape(found))
    for figures in chart["data"][1:]:
        for figure in figures:
            assert figure is None or f'<td class="number">{figure:,}</td>' in text
    assert 1_048_576 in chart["data"][1]


async def test_every_kind_of_fault_stands_there(pages: Pages):
    """Those that nobody looked for say so."""
    await end(pages, await found_leak(pages))
    text = (await (await pages.visitor()).get("/ui/targets/staging")).text
    for kind in FaultKind:
        assert f"{kind.value}: {kind.title}" in text
    assert text.count("never") >= len(FaultKind) - 4
