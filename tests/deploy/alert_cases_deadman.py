"""When alerts that say that nobody is watching fire."""

from tests.deploy.alert_case import DAY, GLM, GLM_THERE, HERE, OF_GLM, THERE, Case

DEADMAN: tuple[Case, ...] = (
    Case(
        "ProberAbsent",
        "no prober is scraped",
        {f'prober_build_info{{{HERE},version="1"}}': "1x10 stale _x60 1x10"},
        {10: [], 20: [], 22: [{}], 70: [{}], 73: []},
    ),
    Case(
        "NoScheduledRun",
        "two periods and a quarter of an hour after the latest run; over with the next",
        {
            f"prober_last_scheduled_run_timestamp_seconds{{{GLM}}}": "600x99 6000x60",
            f"prober_schedule_period_seconds{{{GLM}}}": "900x200",
        },
        {54: [], 56: [OF_GLM], 99: [OF_GLM], 101: []},
    ),
    Case(
        "NoScheduledRun",
        "a restart, whose gauge is 0, changes nothing either way; other replicas count",
        {
            f"prober_last_scheduled_run_timestamp_seconds{{{GLM}}}": "600x20 0x200",
            f"prober_schedule_period_seconds{{{GLM}}}": "900x220",
            f'prober_last_scheduled_run_timestamp_seconds{{{HERE},target="kimi"}}': "600x20 0x200",
            f'prober_last_scheduled_run_timestamp_seconds{{{THERE},target="kimi"}}': "0x50 3000x50 6000x100",
            f'prober_schedule_period_seconds{{{THERE},target="kimi"}}': "900x220",
        },
        {30: [], 54: [], 60: [OF_GLM], 140: [OF_GLM]},
    ),
    Case(
        "NoScheduledRun",
        "a target that was never run is given the same time from when it was scheduled; one without a schedule, all",
        {
            f"prober_last_scheduled_run_timestamp_seconds{{{GLM}}}": "0x300",
            f"prober_schedule_period_seconds{{{GLM}}}": "0x99 900x200",
            f'prober_last_scheduled_run_timestamp_seconds{{{HERE},target="kimi"}}': "0x300",
            f'prober_schedule_period_seconds{{{HERE},target="kimi"}}': "0x300",
        },
        {99: [], 110: [], 145: [], 151: [OF_GLM], 290: [OF_GLM]},
    ),
    Case(
        "NoScheduledRun",
        "a schedule made denser is given a day, one that was taken away counts no longer",
        {
            f"prober_last_scheduled_run_timestamp_seconds{{{GLM}}}": "600x250",
            f"prober_schedule_period_seconds{{{GLM}}}": "86400x20 900x230",
            f'prober_last_scheduled_run_timestamp_seconds{{{HERE},target="kimi"}}': "600x250",
            f'prober_schedule_period_seconds{{{HERE},target="kimi"}}': "900x3 0x250",
        },
        {210: [], 900: [], DAY + 190: [], DAY + 220: [OF_GLM]},
        interval="10m",
    ),
    Case(
        "NoVerdict",
        "where nothing is scheduled after two days; a verdict ends it",
        {f"prober_last_conclusive_run_timestamp_seconds{{{GLM}}}": "600x300 180000x60"},
        {2_880: [], 2_900: [OF_GLM], 3_050: []},
        interval="10m",
    ),
    Case(
        "NoVerdict",
        "two hours at least where runs are scheduled, whatever ran meanwhile; a restart does not count",
        {
            f"prober_last_conclusive_run_timestamp_seconds{{{GLM}}}": "600x60 0x200",
            f"prober_schedule_period_seconds{{{GLM}}}": "900x300",
            f"prober_last_scheduled_run_timestamp_seconds{{{GLM}}}": "600x10 6000x300",
        },
        {100: [], 144: [], 147: [OF_GLM], 250: [OF_GLM]},
    ),
    Case(
        "NoVerdict",
        "a target that never had one, watched by a textfile only",
        {f"prober_last_conclusive_run_timestamp_seconds{{{GLM}}}": "0x400"},
        {2_000: [], 2_870: [], 2_900: [OF_GLM]},
        interval="10m",
    ),
    Case(
        "TargetVanished",
        "had metrics and has none, until it is forgotten after a day; one that another replica knows has not",
        {
            f"prober_run_in_progress{{{GLM}}}": f"0x30 stale _x{2 * DAY}",
            f'prober_run_in_progress{{{HERE},target="kimi"}}': f"0x30 stale _x{2 * DAY}",
            f'prober_run_in_progress{{{THERE},target="kimi"}}': f"0x{2 * DAY}",
        },
        {30: [], 40: [], 50: [OF_GLM], DAY: [OF_GLM], DAY + 60: []},
    ),
    Case(
        "SlotsMissed",
        "within the last hour; what was meant to be silent is not missed",
        {
            f'prober_slots_missed_total{{{GLM},reason="overlap"}}': "0x99 1x200",
            f'prober_slots_missed_total{{{GLM},reason="quiet_hours"}}': "0+1x300",
            f'prober_slots_missed_total{{{GLM},reason="stopped"}}': "0+1x300",
            f'prober_slots_missed_total{{{GLM},reason="breaker"}}': "0+1x300",
        },
        {99: [], 102: [OF_GLM | {"reason": "overlap"}], 170: []},
    ),
    Case(
        "SlotsMissed",
        "found at the start of a replica, before its first scrape",
        {
            f'prober_slots_missed_total{{{GLM},reason="down"}}': "0x200",
            f'prober_slots_missed_total{{{GLM_THERE},reason="down"}}': "_x100 3x200",
        },
        {99: [], 101: [OF_GLM | {"reason": "down"}], 170: []},
    ),
    Case(
        "QueueStuck",
        "nobody claims for more than an hour; a long run before it is patience, not a fault",
        {f"prober_queue_age_seconds{{{HERE}}}": "0+60x100 0x30"},
        {62: [], 74: [], 77: [{"job": "prober"}], 102: []},
    ),
    Case(
        "QueueStuck",
        "just above the hour and then claimed",
        {f"prober_queue_age_seconds{{{HERE}}}": "0+60x65 0x60"},
        {63: [], 65: [], 80: []},
    ),
    Case(
        "ProbingStopped",
        "thrown for an hour; released at once",
        {f"prober_global_stop{{{HERE}}}": "0x9 1x99 0x20"},
        {10: [], 69: [], 71: [{"job": "prober"}], 108: [{"job": "prober"}], 111: []},
    ),
)
