"""`prober findings issues|issue|ack|resolve|suppress|note`: findings of one kind, folded over runs."""

import asyncio
import datetime as dt
import getpass
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from prober.cli.exits import Exit
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.cli.terminal import aligned, open_console
from prober.config.schema import Settings
from prober.domain.issue import Issue, IssueEntry, IssueState
from prober.store.issues import IssueBook
from prober.wiring.prober import open_issues
from prober.wiring.system import SystemClock

_MOST = 2**31 - 1
_HEADINGS = ("id", "state", "outcome", "target", "reason", "count", "last seen", "latest run")


def _whoever() -> str:
    """Name of the user at the terminal; containers may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


IssueNumber = Annotated[
    int, typer.Argument(metavar="ISSUE", min=1, max=_MOST, help="As `prober findings issues` shows it.")
]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who does it (else: the user at the terminal).")]
Note = Annotated[
    str, typer.Option("--note", metavar="TEXT", help="Why; kept with the issue, shown to all who may read it.")
]


def list_issues(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="Only this target's.")] = None,
    state: Annotated[IssueState | None, typer.Option(help="Only those that stand so.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="At most so many.")] = 50,
) -> None:
    """List issues: findings of one detector and reason about one target, folded over runs."""
    issues = asyncio.run(_list(load(config), target, state, limit))
    _show(aligned([_HEADINGS, *map(_row, issues)]) if issues else ["no issues"])


def show_issue(issue_id: IssueNumber, *, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Show one issue with its history."""
    issue, history = asyncio.run(_find(load(config), issue_id))
    _show([*_lines(_there(issue, issue_id)), *map(_entry, history)])


def acknowledge(issue_id: IssueNumber, *, config: ConfigFile = DEFAULT_CONFIG, by: By = "", note: Note = "") -> None:
    """Take an issue in hand. It still counts as open."""
    _change(config, issue_id, lambda issues: issues.acknowledge(issue_id, by or _whoever(), note))


def resolve(issue_id: IssueNumber, *, config: ConfigFile = DEFAULT_CONFIG, by: By = "", note: Note = "") -> None:
    """Call an issue done with; the next finding opens it again."""
    _change(config, issue_id, lambda issues: issues.resolve(issue_id, by or _whoever(), note))


def suppress(
    issue_id: IssueNumber,
    *,
    until: Annotated[
        dt.datetime,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"], help="When it ends by itself, in UTC."
        ),
    ],
    config: ConfigFile = DEFAULT_CONFIG,
    by: By = "",
    note: Note = "",
) -> None:
    """Accept an issue until a date: nobody is told, unless it becomes worse."""
    date = until.replace(tzinfo=dt.UTC)
    if date <= SystemClock().now():
        raise typer.BadParameter("must be in the future", param_hint="--until")
    _change(config, issue_id, lambda issues: issues.suppress(issue_id, by or _whoever(), date, note))


def annotate(
    issue_id: IssueNumber,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="At most 1,000 characters.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    by: By = "",
) -> None:
    """Write something about an issue, without changing where it stands."""
    if not text.strip():
        raise typer.BadParameter("an empty note says nothing", param_hint="TEXT")
    _change(config, issue_id, lambda issues: issues.annotate(issue_id, by or _whoever(), text))


def add_to(group: typer.Typer) -> None:
    """Put the verbs into a group."""
    group.command("issues")(list_issues)
    group.command("issue")(show_issue)
    group.command("ack")(acknowledge)
    group.command("resolve")(resolve)
    group.command("suppress")(suppress)
    group.command("note")(annotate)


def _change(config: ConfigFile, issue_id: int, step: Callable[[IssueBook], Awaitable[Issue | None]]) -> None:
    issue = _there(asyncio.run(_apply(load(config), step)), issue_id)
    _show([f"issue {issue.issue_id} is {_state(issue)}"])


def _there(issue: Issue | None, issue_id: int) -> Issue:
    if issue is None:
        typer.echo(f"there is no issue {issue_id}", err=True)
        raise typer.Exit(Exit.USAGE)
    return issue


def _row(issue: Issue) -> tuple[str, ...]:
    return (
        str(issue.issue_id),
        issue.state.value,
        issue.outcome.value,
        issue.target,
        issue.reason.value,
        str(issue.count),
        _date(issue.last_seen),
        issue.last_run_id,
    )


def _lines(issue: Issue) -> list[str]:
    again = f", reopened {issue.reopened} times" if issue.reopened else ""
    lines = [
        f"issue {issue.issue_id}: {issue.outcome.name} {issue.reason.value} ({issue.detector}) on {issue.target}",
        f"  {_state(issue)}; fingerprint {issue.fingerprint}",
        f"  found {issue.count} times from {_date(issue.first_seen)} to {_date(issue.last_seen)}{again}",
        f"  by {', '.join(issue.scenarios)}; at most {issue.evidence_bits:.0f} bits of evidence",
        f"  latest: finding {issue.last_finding_id} of run {issue.last_run_id}",
    ]
    if issue.message:
        lines.append(f"  {issue.message}")
    if issue.kinds:
        lines.append(f"  suspected: {', '.join(issue.kinds)}")
    return lines


def _entry(entry: IssueEntry) -> str:
    who = f"by {entry.by}" if entry.by else f"by run {entry.run_id}"
    until = f" until {_date(entry.until)}" if entry.until else ""
    note = f": {entry.note}" if entry.note else ""
    return f"  {_date(entry.at)}  {entry.change.value}{until} ({entry.outcome.value}) {who}{note}"


def _state(issue: Issue) -> str:
    until = f" until {_date(issue.suppressed_until)}" if issue.suppressed_until else ""
    return f"{issue.state.value}{until}"


def _date(date: dt.datetime) -> str:
    return f"{date:%Y-%m-%d %H:%M:%S}Z"


def _show(lines: list[str]) -> None:
    console = open_console()
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


async def _list(settings: Settings, target: str | None, state: IssueState | None, limit: int) -> tuple[Issue, ...]:
    async with open_issues(settings) as issues:
        return await issues.listed(target=target, state=state, limit=limit)


async def _find(settings: Settings, issue_id: int) -> tuple[Issue | None, tuple[IssueEntry, ...]]:
    async with open_issues(settings) as issues:
        return await issues.find(issue_id), await issues.history(issue_id)


async def _apply(settings: Settings, step: Callable[[IssueBook], Awaitable[Issue | None]]) -> Issue | None:
    async with open_issues(settings) as issues:
        return await step(issues)
