"""`prober findings`: what the ledger holds."""

import asyncio
import datetime as dt
from typing import Annotated

import typer

from prober.cli import issues
from prober.cli.exits import Exit
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.cli.terminal import aligned, open_console
from prober.config.schema import Settings
from prober.domain.outcome import Outcome
from prober.store.rows import StoredFinding
from prober.wiring.prober import open_lookups

_MOST = 2**31 - 1
"""What every database can count to."""

app = typer.Typer(help="Look findings up in the ledger.", no_args_is_help=True)
_HEADINGS = ("id", "found", "target", "outcome", "reason", "probe", "bits")


@app.command("list")
def list_findings(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    run: Annotated[str | None, typer.Option(metavar="ID", help="Only this run's.")] = None,
    worse_than: Annotated[Outcome, typer.Option(help="Only outcomes worse than this one.")] = Outcome.INCONCLUSIVE,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="At most so many.")] = 100,
) -> None:
    """List findings, newest first."""
    found = asyncio.run(_list(load(config), run, worse_than, limit))
    lines = aligned([_HEADINGS, *map(_row, found)]) if found else [f"no findings worse than {worse_than.value}"]
    console = open_console()
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


@app.command()
def show(
    finding_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, max=_MOST, help="As `prober findings list` shows it.")
    ],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Show one finding: what was seen, whose text it was, which request sent it, and when."""
    stored, pruned_before = asyncio.run(_show(load(config), finding_id))
    if stored is None:
        typer.echo(f"there is no finding {finding_id}", err=True)
        raise typer.Exit(Exit.USAGE)
    console = open_console()
    for line in _lines(stored, pruned_before):
        console.print(line, markup=False, soft_wrap=True)


issues.add_to(app)


def _row(stored: StoredFinding) -> tuple[str, ...]:
    finding = stored.finding
    return (
        str(stored.finding_id),
        f"{stored.found_at:%Y-%m-%d %H:%M:%S}Z",
        stored.target,
        finding.outcome.value,
        finding.reason.value,
        finding.probe_label or "(run)",
        f"{finding.evidence_bits:.0f}" if finding.evidence_bits else "",
    )


def _lines(stored: StoredFinding, pruned_before: dt.datetime | None) -> list[str]:
    finding = stored.finding
    lines = [
        f"finding {stored.finding_id}: {finding.outcome.name} {finding.reason.value} ({finding.detector})",
        f"  target {stored.target}, run {stored.run_id}, probe {finding.probe_label or '(the run as a whole)'}",
        f"  found {stored.found_at:%Y-%m-%d %H:%M:%S}Z; {'confirmed' if finding.is_confirmed else 'not confirmed'}",
        f"  {finding.message}",
    ]
    if finding.kinds:
        lines.append(f"  suspected: {', '.join(f'{kind.value} {kind.title}' for kind in finding.kinds)}")
    donors = {donor.canary: donor for donor in stored.donors}
    for sighting in finding.sightings:
        lines.append(
            f"  canary {sighting.canary}: {sighting.windows} windows, tier {sighting.tier.value}, "
            f"{sighting.evidence_bits:.0f} bits, blocks {sighting.first_block} to {sighting.last_block}"
        )
        donor = donors.get(sighting.canary)
        if donor is None:
            gone = "" if pruned_before is None else f"; canaries up to {pruned_before:%Y-%m-%d %H:%M:%S}Z are pruned"
            lines.append(f"    not sent by any run in this database{gone}")
        else:
            age = donor.age(stored.found_at).total_seconds()
            lines.append(
                f"    sent by tenant {donor.tenant} as {donor.label} of run {donor.run_id}, {age:.1f} s before"
            )
    return lines


async def _list(settings: Settings, run: str | None, worse_than: Outcome, limit: int) -> tuple[StoredFinding, ...]:
    async with open_lookups(settings) as lookups:
        return await lookups.findings(run_id=run, worse_than=worse_than, limit=limit)


async def _show(settings: Settings, finding_id: int) -> tuple[StoredFinding | None, dt.datetime | None]:
    async with open_lookups(settings) as lookups:
        return await lookups.finding(finding_id), await lookups.canaries_pruned_before()
