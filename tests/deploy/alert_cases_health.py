"""When alerts on the prober itself fire."""

from tests.deploy.alert_case import DAY, GLM, GLM_THERE, HERE, OF_GLM, THERE, Case

HEALTH: tuple[Case, ...] = (
    Case(
        "SelfTestFailed",
        "until one succeeds; before the first there is nothing to complain about",
        {
            f"prober_selftest_success{{{HERE}}}": "0x19 1x10 0x10 1x10",
            f'prober_selftest_runs_total{{{HERE},outcome="failed"}}': "0x30 1x30",
            f"prober_selftest_success{{{THERE}}}": "0x60",
            f'prober_selftest_runs_total{{{THERE},outcome="failed"}}': "0x60",
        },
        {10: [], 25: [], 33: [{"job": "prober", "instance": "a"}], 45: []},
    ),
    Case(
        "SelfTestOverdue",
        "two periods of the rarest schedule and a day; a restart changes nothing",
        {
            f"prober_selftest_last_success_timestamp_seconds{{{HERE}}}": "600x100 0x160 155400x20",
            f"prober_schedule_period_seconds{{{GLM}}}": "900x300",
            f'prober_schedule_period_seconds{{{HERE},target="kimi"}}': "3600x300",
        },
        {1_000: [], 1_560: [], 1_590: [{"job": "prober"}], 2_500: [{"job": "prober"}], 2_640: []},
        interval="10m",
    ),
    Case(
        "SelfTestOverdue",
        "where self-tests are switched off, none is missed",
        {
            f"prober_selftest_last_success_timestamp_seconds{{{HERE}}}": "0x300",
            f"prober_schedule_period_seconds{{{GLM}}}": "900x300",
        },
        {2_900: []},
        interval="10m",
    ),
    Case(
        "ReplicaWithoutDatabase",
        "two minutes of silence of one replica; a slow beat is none",
        {
            f"prober_heartbeat_timestamp_seconds{{{HERE}}}": "0+60x10 600x20 1860+60x20",
            f"prober_heartbeat_timestamp_seconds{{{THERE}}}": "-60+60x60",
        },
        {10: [], 12: [], 14: [{"job": "prober", "instance": "a"}], 30: [{"job": "prober", "instance": "a"}], 34: []},
    ),
    Case(
        "InternalErrors",
        "one is enough, for an hour, by component",
        {
            f'prober_internal_errors_total{{{HERE},component="ladder"}}': "0x99 1x200",
            f'prober_internal_errors_total{{{HERE},component="vault"}}': "0x300",
        },
        {99: [], 101: [{"job": "prober", "component": "ladder"}], 170: []},
    ),
    Case(
        "InternalErrors",
        "made before the first scrape of a new replica",
        {f'prober_internal_errors_total{{{HERE},component="api"}}': "_x100 1x200"},
        {99: [], 101: [{"job": "prober", "component": "api"}], 170: []},
    ),
    Case(
        "EventLoopLag",
        "for ten minutes; a hiccup is none",
        {f"prober_event_loop_lag_seconds{{{HERE}}}": "0.01x9 0.9x4 0.01x30 0.8x30 0.02x20"},
        {13: [], 25: [], 50: [], 57: [{"job": "prober", "instance": "a"}], 80: []},
    ),
    Case(
        "TargetDown",
        "the breaker is not closed for a quarter of an hour",
        {f'prober_breaker_state{{{GLM},state="closed"}}': "1x9 0x40 1x20"},
        {10: [], 24: [], 26: [OF_GLM], 52: []},
    ),
    Case(
        "TargetDown",
        "open for some minutes only",
        {f'prober_breaker_state{{{GLM},state="closed"}}': "1x9 0x9 1x40"},
        {15: [], 26: [], 40: []},
    ),
    Case(
        "BudgetNearlySpent",
        "less than a tenth is left, until the window is over; what another cap has left is its own matter",
        {
            f'prober_budget_cap{{{GLM},tenant="",window="day",unit="tokens"}}': "1000x60",
            f'prober_budget_left{{{GLM},tenant="",window="day",unit="tokens"}}': "150x9 90x20 1000x30",
            f'prober_budget_left{{{GLM_THERE},tenant="",window="day",unit="tokens"}}': "150x9 90x20 1000x30",
            f'prober_budget_cap{{{GLM},tenant="alpha",window="hour",unit="requests"}}': "10x60",
            f'prober_budget_left{{{GLM},tenant="alpha",window="hour",unit="requests"}}': "1x60",
        },
        {9: [], 11: [OF_GLM | {"window": "day", "unit": "tokens"}], 32: []},
    ),
    Case(
        "BudgetExhausted",
        "a run was cut short within six hours; other reasons are other matters",
        {
            f'prober_inconclusive_findings_total{{{GLM},reason="budget_exhausted"}}': f"0x99 1x{DAY}",
            f'prober_inconclusive_findings_total{{{HERE},target="kimi",reason="busy"}}': "0+1x500",
        },
        {99: [], 102: [OF_GLM], 440: [OF_GLM], 470: []},
    ),
    Case(
        "NoticesWaiting",
        "for a quarter of an hour, until they are taken",
        {
            f'prober_oldest_pending_notice_age_seconds{{{HERE},receiver="pager"}}': "0+60x30 0x30",
            f'prober_oldest_pending_notice_age_seconds{{{HERE},receiver="ops"}}': "0x60",
        },
        {15: [], 17: [{"job": "prober", "receiver": "pager"}], 32: []},
    ),
    Case(
        "NoticesGivenUp",
        "more than an hour ago; what was given up long ago fires no longer",
        {f'prober_notices_given_up{{{HERE},receiver="pager"}}': "2x99 3x200"},
        {90: [], 103: [{"job": "prober", "receiver": "pager"}], 170: []},
    ),
    Case(
        "DatabaseNearCap",
        "nine tenths of the cap; before the first pruning nothing is known",
        {
            f"prober_database_bytes{{{HERE}}}": "0x9 800x9 950x20 500x20",
            f"prober_database_cap_bytes{{{HERE}}}": "0x9 1000x60",
        },
        {5: [], 15: [], 25: [{"job": "prober"}], 45: []},
    ),
    Case(
        "ReloadRefused",
        "for an hour; one that was taken is none",
        {
            f'prober_reloads_total{{{HERE},outcome="refused"}}': "0x99 1x200",
            f'prober_reloads_total{{{THERE},outcome="taken"}}': "0+1x300",
        },
        {99: [], 102: [{"job": "prober", "instance": "a"}], 170: []},
    ),
)
