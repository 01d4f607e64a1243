"""When alerts of leaks and limits fire."""

from tests.deploy.alert_case import DAY, GLM, GLM_THERE, HERE, OF_GLM, THERE, Case, quiet_then

LEAK: tuple[Case, ...] = (
    Case(
        "TenantLeak",
        "one event pages at once, for as long as the issue is open",
        {f'prober_open_issues{{{GLM},outcome="violation"}}': quiet_then(1)},
        {29: [], 30: [OF_GLM | {"outcome": "violation"}], 59: [OF_GLM | {"outcome": "violation"}], 60: []},
    ),
    Case(
        "TenantLeak",
        "a replica that dies settles nothing, one that takes its place goes on, and knows when it is settled",
        {
            f'prober_open_issues{{{GLM},outcome="violation"}}': "0x4 1x5 stale",
            f'prober_open_issues{{{GLM_THERE},outcome="violation"}}': "_x120 1x10 0x10",
        },
        {
            60: [OF_GLM | {"outcome": "violation"}],
            125: [OF_GLM | {"outcome": "violation"}],
            133: [],
        },
    ),
    Case(
        "TenantLeak",
        "two replicas page once, a suspicion does not",
        {
            f'prober_open_issues{{{GLM},outcome="violation"}}': "0 1x10",
            f'prober_open_issues{{{GLM_THERE},outcome="violation"}}': "0 1x10",
            f'prober_open_issues{{{HERE},target="kimi",outcome="suspect"}}': "0 1x10",
        },
        {5: [OF_GLM | {"outcome": "violation"}]},
    ),
    Case(
        "TenantLeak",
        "a leak that no database takes pages all the same; one that was accepted, and can be looked up, does not",
        {
            f'prober_open_issues{{{GLM},outcome="violation"}}': "0x60",
            f'prober_active_findings{{{GLM},outcome="violation"}}': "0x4 1x60",
            f"prober_heartbeat_timestamp_seconds{{{HERE}}}": "0+60x10 600x20 1920+60x30",
            f'prober_open_issues{{{THERE},target="kimi",outcome="violation"}}': "0x60",
            f'prober_active_findings{{{THERE},target="kimi",outcome="violation"}}': "1x60",
            f"prober_heartbeat_timestamp_seconds{{{THERE}}}": "0+60x60",
        },
        {9: [], 12: [OF_GLM | {"outcome": "violation"}], 25: [OF_GLM | {"outcome": "violation"}], 33: []},
    ),
    Case(
        "TenantLeakSuspected",
        "fires while it is open, and not for a violation",
        {
            f'prober_open_issues{{{GLM},outcome="suspect"}}': quiet_then(2),
            f'prober_open_issues{{{HERE},target="kimi",outcome="violation"}}': "1x120",
        },
        {29: [], 31: [OF_GLM | {"outcome": "suspect"}], 61: []},
    ),
    Case(
        "PrefillTooFastAgain",
        "one fast answer does not page",
        {f'prober_findings_total{{{GLM},reason="prefill_too_fast",outcome="suspect"}}': f"0x9 1x{2 * DAY}"},
        {8: [], 10: [], 11: [], 20: [], 300: [], DAY: [], 2 * DAY: []},
    ),
    Case(
        "PrefillTooFastAgain",
        "nor one that was there before the first scrape, nor slow findings of other reasons",
        {
            f'prober_findings_total{{{GLM},reason="prefill_too_fast",outcome="suspect"}}': f"1x{DAY}",
            f'prober_findings_total{{{GLM},reason="recall_collapsed",outcome="suspect"}}': "0+1x60",
        },
        {1: [], 60: [], DAY: []},
    ),
    Case(
        "PrefillTooFastAgain",
        "two within a day do, whichever replicas saw them, until a day has passed",
        {
            f'prober_findings_total{{{GLM},reason="prefill_too_fast",outcome="suspect"}}': f"0x9 1x{2 * DAY}",
            f'prober_findings_total{{{GLM_THERE},reason="prefill_too_fast",outcome="violation"}}': f"0x99 1x{2 * DAY}",
        },
        {90: [], 102: [OF_GLM], DAY: [OF_GLM], DAY + 200: []},
    ),
    Case(
        "LimitMoved",
        "another limit by more than pages differ; a day or two later it is the known one",
        {
            f"prober_enforced_limit_tokens{{{GLM}}}": "681273x50 524288x400",
            f"prober_enforced_limit_timestamp_seconds{{{GLM}}}": "60x50 30600x400",
        },
        {500: [], 520: [OF_GLM], 520 + 2 * DAY: []},
        interval="10m",
    ),
    Case(
        "LimitMoved",
        "a page is no move, a start from nothing neither; nor what a replica found earlier than another",
        {
            f"prober_enforced_limit_tokens{{{GLM}}}": "0x9 681273x20 681337x200",
            f"prober_enforced_limit_timestamp_seconds{{{GLM}}}": "0x9 60x20 18000x200",
            f'prober_enforced_limit_tokens{{{HERE},target="kimi"}}': "500000x200",
            f'prober_enforced_limit_timestamp_seconds{{{HERE},target="kimi"}}': "70x200",
            f'prober_enforced_limit_tokens{{{THERE},target="kimi"}}': "400000x200",
            f'prober_enforced_limit_timestamp_seconds{{{THERE},target="kimi"}}': "60x200",
        },
        {50: [], 100: [], 400: [], 2_000: []},
        interval="10m",
    ),
)
