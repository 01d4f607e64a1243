"""The dashboard of the targets."""

from deploy.grafana.panels import BAD, Dashboard, Panel

T = 'job=~"$job",target=~"$target"'
J = 'job=~"$job"'
ODD = ((None, "green"), (1, "orange"))

TARGETS = Dashboard(
    uid="isolation-prober-targets",
    title="Isolation prober: targets",
    means="Do the targets keep their tenants apart, and how well do we know?",
    rows={
        "Now": (
            Panel(
                title="Open violations",
                means="Issues with a confirmed violation, open or acknowledged. Anything but 0 is an emergency.",
                kind="stat",
                queries={"{{target}}": f'max by (target) (prober_open_issues{{{T},outcome="violation"}})'},
                steps=BAD,
                width=6,
            ),
            Panel(
                title="Open suspicions",
                means="Issues with suspicious findings that are open or acknowledged.",
                kind="stat",
                queries={"{{target}}": f'max by (target) (prober_open_issues{{{T},outcome="suspect"}})'},
                steps=ODD,
                width=6,
            ),
            Panel(
                title="Since the last verdict",
                means="Time since a run of the target could last be judged. What was INCONCLUSIVE does not count.",
                kind="stat",
                unit="s",
                queries={
                    "{{target}}": (
                        f"time() - (max by (target) (prober_last_conclusive_run_timestamp_seconds{{{T}}}) > 0)"
                    )
                },
                steps=((None, "green"), (86_400, "orange"), (172_800, "red")),
                width=6,
            ),
            Panel(
                title="Alerts firing",
                means="Alerts of the prober's own rules.",
                kind="table",
                queries={"": f'ALERTS{{{J},service="isolation-prober",alertstate="firing"}}'},
                width=6,
            ),
            Panel(
                title="Bound on the leak rate",
                means="95 % upper bound on leaks per probe by the latest run, by what started it; 100 %: no bound.",
                kind="stat",
                unit="percentunit",
                queries={"{{target}} {{trigger}}": f"min by (target, trigger) (prober_leak_rate_upper95{{{T}}})"},
                steps=((None, "green"), (0.1, "orange"), (1, "blue")),
                width=12,
            ),
            Panel(
                title="Budget left",
                means="Of each cap in its present window; an empty target or tenant stands for all of them.",
                kind="stat",
                unit="percentunit",
                queries={
                    "{{target}} {{tenant}} {{unit}}/{{window}}": (
                        f"min by (target, tenant, window, unit) (prober_budget_left{{{J}}})"
                        f" / max by (target, tenant, window, unit) (prober_budget_cap{{{J}}})"
                    )
                },
                steps=((None, "red"), (0.1, "orange"), (0.3, "green")),
                width=12,
            ),
        ),
        "What was found": (
            Panel(
                title="Outcome of the latest run",
                means="1 for the outcome of the latest run of each target.",
                queries={"{{target}} {{outcome}}": f"max by (target, outcome) (prober_last_run_outcome{{{T}}} == 1)"},
            ),
            Panel(
                title="Findings by reason",
                means="Suspicious findings and violations, by reason: docs/reasons.md.",
                queries={
                    "{{target}} {{reason}} ({{outcome}})": (
                        f"sum by (target, reason, outcome) (increase(prober_findings_total{{{T}}}[$__rate_interval]))"
                        " > 0 or "
                        f"sum by (target, outcome) (increase(prober_findings_total{{{T}}}[$__rate_interval]))"
                    )
                },
            ),
            Panel(
                title="Suspected kinds of fault",
                means="The same findings, by the kind of fault that they point to first: docs/fault-kinds.md.",
                queries={
                    "{{target}} {{fault_kind}}": (
                        f"sum by (target, fault_kind) (prober_suspected_kinds_total{{{T}}}) > 0"
                    )
                },
            ),
            Panel(
                title="Not judged, by reason",
                means="Findings that could not be judged: INCONCLUSIVE is not clean.",
                queries={
                    "{{target}} {{reason}}": f"sum by (target, reason) (prober_inconclusive_findings_total{{{T}}})"
                },
            ),
            Panel(
                title="Promised and got",
                means="Served where refusal was due, or refused where service was due.",
                queries={
                    "{{target}}: {{expected}}, got {{got}}": (
                        f"sum by (target, expected, got) (prober_status_mismatches_total{{{T}}})"
                    )
                },
            ),
            Panel(
                title="Strongest evidence",
                means="For a violation in the latest ended run: 36 bits are one false attribution in 70 billion.",
                unit="none",
                queries={"{{target}}": f"max by (target) (prober_evidence_bits{{{T}}})"},
            ),
        ),
        "How the target behaves": (
            Panel(
                title="Enforced limit",
                means="Longest prompt that is served, as the latest run found it that came within one page.",
                unit="none",
                queries={"{{target}}": f"max by (target) (prober_enforced_limit_tokens{{{T}}})"},
            ),
            Panel(
                title="Time to the first token",
                means="Of answers whose timing can be trusted.",
                unit="s",
                queries={
                    f"{{{{target}}}} p{int(100 * share)}": (
                        f"histogram_quantile({share}, sum by (target, le) "
                        f"(increase(prober_time_to_first_token_seconds_bucket{{{T}}}[$__range])))"
                    )
                    for share in (0.5, 0.95)
                },
            ),
            Panel(
                title="Prefill rate",
                means="Uncached prompt tokens by time to the first token. Too fast: pages that were never filled.",
                unit="none",
                queries={
                    f"{{{{target}}}} p{int(100 * share)}": (
                        f"histogram_quantile({share}, sum by (target, le) "
                        f"(increase(prober_prefill_tokens_per_second_bucket{{{T}}}[$__range])))"
                    )
                    for share in (0.5, 0.95)
                },
            ),
            Panel(
                title="Answers",
                means="What the target did with each probe.",
                queries={"{{answer}}": f"sum by (answer) (increase(prober_probes_total{{{T}}}[$__rate_interval]))"},
                stacked=True,
            ),
            Panel(
                title="Breaker",
                means="1 while the circuit breaker of a target is not closed: it answers nothing but errors.",
                queries={"{{target}}": f'1 - min by (target) (prober_breaker_state{{{T},state="closed"}})'},
            ),
            Panel(
                title="Waiting for pacing",
                means="Seconds that probes wait for their tenant's pacing, per second.",
                unit="none",
                queries={
                    "{{target}} {{tenant}}": (
                        f"sum by (target, tenant) (rate(prober_paced_seconds_total{{{T}}}[$__rate_interval]))"
                    )
                },
            ),
        ),
        "What it costs": (
            Panel(
                title="Tokens",
                means="Prompt and answer tokens by tenant, over the range shown.",
                queries={
                    "{{target}} {{tenant}} {{kind}}": (
                        f"sum by (target, tenant, kind) (increase(prober_spent_tokens_total{{{T}}}[$__range]))"
                    )
                },
            ),
            Panel(
                title="Money",
                means="In the configured currency, over the range shown; 0 without prices.",
                unit="none",
                queries={"{{target}}": f"sum by (target) (increase(prober_spent_money_total{{{T}}}[$__range]))"},
            ),
            Panel(
                title="Runs",
                means="Runs ended, by trigger and verdict.",
                queries={
                    "{{trigger}} {{outcome}}": (
                        f"sum by (trigger, outcome) (increase(prober_runs_total{{{T}}}[$__range]))"
                    )
                },
                stacked=True,
            ),
        ),
    },
)
