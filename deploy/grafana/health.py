"""The dashboard of the prober itself."""

from deploy.grafana.panels import BAD, Dashboard, Panel

J = 'job=~"$job"'

HEALTH = Dashboard(
    uid="isolation-prober-health",
    title="Isolation prober: the prober itself",
    means="Does the prober run, in time, and would anybody be told?",
    by_target=False,
    rows={
        "Now": (
            Panel(
                title="Replicas",
                means="Scraped replicas, by version.",
                kind="stat",
                queries={"{{version}}": f"count by (version) (prober_build_info{{{J}}})"},
                width=4,
            ),
            Panel(
                title="Since the database answered",
                means="Age of the oldest heartbeat of any replica.",
                kind="stat",
                unit="s",
                queries={"": f"time() - min(prober_heartbeat_timestamp_seconds{{{J}}})"},
                steps=((None, "green"), (60, "orange"), (120, "red")),
                width=4,
            ),
            Panel(
                title="Global stop",
                means="1 while all probing is stopped by hand.",
                kind="stat",
                queries={"": f"max(prober_global_stop{{{J}}})"},
                steps=BAD,
                width=4,
            ),
            Panel(
                title="Self-test",
                means="1: the latest self-test of each replica found the leak that it plants; 0 also before the first.",
                kind="stat",
                queries={"": f"min(prober_selftest_success{{{J}}})"},
                steps=((None, "red"), (1, "green")),
                width=4,
            ),
            Panel(
                title="Oldest notice waiting",
                means="How long the oldest notice has been waiting for its receiver.",
                kind="stat",
                unit="s",
                queries={"{{receiver}}": f"max by (receiver) (prober_oldest_pending_notice_age_seconds{{{J}}})"},
                steps=((None, "green"), (60, "orange"), (900, "red")),
                width=4,
            ),
            Panel(
                title="Internal errors",
                means="Faults of the prober itself over the range shown.",
                kind="stat",
                queries={"": f"sum(increase(prober_internal_errors_total{{{J}}}[$__range]))"},
                steps=BAD,
                width=4,
                decimals=0,
            ),
        ),
        "Work": (
            Panel(
                title="Runs asked for",
                means="Jobs in the whole database, by state.",
                queries={"{{state}}": f'max by (state) (prober_jobs{{{J},state=~"queued|running"}})'},
            ),
            Panel(
                title="Oldest in the queue",
                means="How long the oldest queued run has been waiting.",
                unit="s",
                queries={"": f"max(prober_queue_age_seconds{{{J}}})"},
            ),
            Panel(
                title="Under way",
                means="Runs that each replica holds.",
                queries={"{{instance}}": f"prober_jobs_held{{{J}}}"},
                stacked=True,
            ),
            Panel(
                title="Slots queued and missed",
                means="Of schedules, over the range shown.",
                queries={
                    "queued": f"sum(increase(prober_slots_queued_total{{{J}}}[$__range]))",
                    "missed: {{reason}}": f"sum by (reason) (increase(prober_slots_missed_total{{{J}}}[$__range]))",
                },
            ),
            Panel(
                title="Since the latest scheduled run",
                means="By target, in periods of its schedule: above 2 the deadman pages.",
                unit="none",
                queries={
                    "{{target}}": (
                        f"(time() - max by (target) (prober_last_scheduled_run_timestamp_seconds{{{J}}} > 0))"
                        f" / max by (target) (prober_schedule_period_seconds{{{J}}})"
                    )
                },
            ),
            Panel(
                title="Taken over and lost",
                means="Runs of dead replicas that others took back, and runs that a replica lost.",
                queries={
                    "taken back": f"sum(increase(prober_jobs_taken_back_total{{{J}}}[$__range]))",
                    "lost": f"sum(increase(prober_leases_lost_total{{{J}}}[$__range]))",
                },
            ),
        ),
        "The process": (
            Panel(
                title="Event-loop lag",
                means="Worst delay of a timer in the latest minute. Timing of probes is not trusted above 20 ms.",
                unit="s",
                queries={"{{instance}}": f"prober_event_loop_lag_seconds{{{J}}}"},
            ),
            Panel(
                title="Scheduler lag",
                means="How late the latest slots were dealt with, and wake-ups that did not happen in time.",
                unit="s",
                queries={
                    "lag {{instance}}": f"prober_scheduler_lag_seconds{{{J}}}",
                    "misfires": f"sum(increase(prober_scheduler_misfires_total{{{J}}}[$__range]))",
                },
            ),
            Panel(
                title="Internal errors by component",
                means="Faults of the prober itself.",
                queries={
                    "{{component}}": (
                        f"sum by (component) (increase(prober_internal_errors_total{{{J}}}[$__rate_interval]))"
                    )
                },
            ),
            Panel(
                title="Database",
                means="Size after the latest pruning, and its cap; 0 before the first one.",
                unit="bytes",
                queries={
                    "size": f"max(prober_database_bytes{{{J}}})",
                    "cap": f"max(prober_database_cap_bytes{{{J}}})",
                },
            ),
            Panel(
                title="Configurations read anew",
                means="Taken and refused, over the range shown.",
                queries={"{{outcome}}": f"sum by (outcome) (increase(prober_reloads_total{{{J}}}[$__range]))"},
            ),
            Panel(
                title="Self-tests",
                means="By how they ended, over the range shown.",
                queries={"{{outcome}}": f"sum by (outcome) (increase(prober_selftest_runs_total{{{J}}}[$__range]))"},
            ),
        ),
        "Who is told": (
            Panel(
                title="Notices waiting",
                means="In the outbox, by receiver.",
                queries={"{{receiver}}": f"max by (receiver) (prober_notices_pending{{{J}}})"},
            ),
            Panel(
                title="Notices given up",
                means="Of the last 90 days, by receiver.",
                queries={"{{receiver}}": f"max by (receiver) (prober_notices_given_up{{{J}}})"},
            ),
            Panel(
                title="Sent, and attempts that failed",
                means="By receiver, over the range shown.",
                queries={
                    "sent: {{receiver}}": f"sum by (receiver) (increase(prober_notices_sent_total{{{J}}}[$__range]))",
                    "failed: {{receiver}}": (
                        f"sum by (receiver) (increase(prober_notice_attempts_failed_total{{{J}}}[$__range]))"
                    ),
                },
            ),
        ),
    },
)
