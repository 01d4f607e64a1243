"""`prober gate`: a rollout's run for any pipeline, at a service or in this process; the exit code is the verdict."""

import asyncio
import os
import pathlib
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Console

from prober.cli.exits import Exit, FailOn, settle
from prober.cli.gate_service import Detail, ServiceRun, UndecidedError
from prober.cli.interrupts import run_interruptible
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load, log_for
from prober.cli.outputs import Output, ReportsOption, outputs_of, uses_stdout, write_all, write_reports
from prober.cli.progress import ProgressDisplay
from prober.cli.run import only_target, perform
from prober.cli.terminal import open_console
from prober.config.schema import Settings
from prober.domain.campaign import Campaign, Trigger
from prober.domain.errors import ConfigError
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.endpoint.api_client import ApiClient
from prober.report.advice import advice_on
from prober.report.console import STYLES, print_facts
from prober.report.facts import facts_of
from prober.report.harmless import harmless
from prober.telemetry.logs import stdlib_routed
from prober.wiring.campaigns import campaign_of
from prober.wiring.system import SystemClock

TIMEOUT_SECONDS = 3_600.0
MOST_FACTS = 16

_FACT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_LETTERS = 256
_KEY = re.compile(r"[\x21-\x7e]{1,128}")
_RUN_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


def gate(  # noqa: PLR0913 - a command line's options
    *,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="PROBER_URL", show_envvar=True, help="Service to ask; in this process else."
        ),
    ] = None,
    token_file: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Its API token (scopes run, read); else PROBER_TOKEN.")
    ] = None,
    ca_file: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Authorities of the service's certificate, as PEM.")
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="What to probe.")] = None,
    scenario: Annotated[list[str] | None, typer.Option(help="Only these scenarios, in this order.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Hard cap on prompt and answer tokens.")] = None,
    service: Annotated[str | None, typer.Option(metavar="NAME", help="What is rolled out; stored and shown.")] = None,
    revision: Annotated[str | None, typer.Option(metavar="TEXT", help="Likewise: its revision.")] = None,
    image: Annotated[str | None, typer.Option(metavar="TEXT", help="Likewise: its image.")] = None,
    commit: Annotated[str | None, typer.Option(metavar="TEXT", help="Likewise: its commit.")] = None,
    fact: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Likewise; repeatable.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Idempotency key: joins the run that was started with it.")
    ] = None,
    run: Annotated[str | None, typer.Option(metavar="ID", help="Wait for this run of the service; start none.")] = None,
    timeout: Annotated[
        float, typer.Option(min=0.0, max=604_800.0, metavar="SECONDS", help="Longest wait; then 3, never 0.")
    ] = TIMEOUT_SECONDS,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Print the run's id and leave; 0 says nothing more.")
    ] = False,
    fail_on: Annotated[FailOn, typer.Option(help="From which outcome on the exit code is 1.")] = FailOn.VIOLATION,
    report: ReportsOption = None,
) -> None:
    """Run for a rollout and wait for the verdict: 0 clean, 1 violation, 3 anything that is no verdict to go on by."""
    facts = rollout_facts({"service": service, "revision": revision, "image": image, "commit": commit}, fact or ())
    outputs = outputs_of(report)
    console = open_console(stderr=uses_stdout(outputs) or no_wait)
    if url is None:
        if key is not None or run is not None or no_wait or token_file is not None or ca_file is not None:
            raise ConfigError("--key, --run, --no-wait, --token-file and --ca-file are about a service: give its --url")
        settings = load(config)
        campaign = campaign_of(settings, only_target(settings, target), scenarios=scenario, max_run_tokens=max_tokens)
        raise typer.Exit(_in_process(console, settings, campaign, facts, timeout, fail_on, outputs))
    order = None if run is not None else _order(target, scenario, max_tokens, facts)
    client = ApiClient(url, _token(token_file), ca_file=None if ca_file is None else str(ca_file))
    at_service = ServiceRun(
        client, timeout, monotonic=SystemClock().monotonic, tell=lambda line: console.print(line, markup=False)
    )
    try:
        code = run_interruptible(
            _at_service(console, at_service, order, _key(key), run, no_wait=no_wait, fail_on=fail_on, outputs=outputs)
        )
    except UndecidedError as error:
        console.print(str(error), markup=False, soft_wrap=True)
        raise typer.Exit(Exit.UNDECIDED) from None
    raise typer.Exit(code)


def rollout_facts(named: Mapping[str, str | None], more: Sequence[str]) -> dict[str, str]:
    """Gather the facts of a rollout.

    Raises:
        ConfigError: a name or value that the service would not take, or too many of them.
    """
    facts = {name: value for name, value in named.items() if value is not None}
    for each in more:
        name, sign, value = each.partition("=")
        if not sign or not _FACT_NAME.fullmatch(name):
            raise ConfigError("write --fact NAME=VALUE; a name has letters, digits, dots, hyphens and underscores")
        if name in facts:
            raise ConfigError(f"the fact {name} is given twice")
        facts[name] = value
    if len(facts) > MOST_FACTS:
        raise ConfigError(f"a rollout has at most {MOST_FACTS} facts")
    for name, value in facts.items():
        if not value.isprintable() or len(value) > _MOST_LETTERS:
            raise ConfigError(f"the fact {name} must be one line of at most {_MOST_LETTERS} characters")
    return facts


def _order(
    target: str | None, scenarios: Sequence[str] | None, max_tokens: int | None, facts: Mapping[str, str]
) -> dict[str, object]:
    if target is None:
        raise ConfigError("say which target of the service with --target")
    order: dict[str, object] = {"target": target, "trigger": Trigger.ROLLOUT.value, "rollout": dict(facts)}
    if scenarios:
        order["scenarios"] = list(scenarios)
    if max_tokens is not None:
        order["max_tokens"] = max_tokens
    return order


def _key(key: str | None) -> str:
    """The caller's; else one of this call's own, so that asking again over a broken line starts no second run."""
    if key is None:
        return f"gate-{uuid.uuid4()}"
    if not _KEY.fullmatch(key):
        raise ConfigError("--key takes 1 to 128 printable ASCII characters without spaces")
    return key


def _token(file: pathlib.Path | None) -> str:
    """Read the token; it is never an argument, which every process of the machine could read."""
    if file is None:
        token = os.environ.get("PROBER_TOKEN", "").strip()
        if not token:
            raise ConfigError("the service needs a token: --token-file FILE or PROBER_TOKEN")
        return token
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as a token ({type(error).__name__})") from None


async def _at_service(  # noqa: PLR0913 - the verb's options
    console: Console,
    at_service: ServiceRun,
    order: Mapping[str, object] | None,
    key: str,
    known: str | None,
    *,
    no_wait: bool,
    fail_on: FailOn,
    outputs: Sequence[Output],
) -> Exit:
    if known is not None and not _RUN_ID.fullmatch(known):
        raise ConfigError("--run takes the id of a run: letters, digits and hyphens")
    run_id = known
    if run_id is None:
        run_id = str((await at_service.start(order or {}, key))["id"])
    if no_wait:
        typer.echo(run_id)
        return Exit.CLEAN
    try:
        detail = await at_service.verdict(run_id)
    except asyncio.CancelledError:
        console.print(f"interrupted; the run goes on: prober gate --run {run_id}", markup=False)
        raise
    outcome = _outcome(detail)
    _print_detail(console, detail, outcome)
    texts = dict.fromkeys(outputs, "")
    for output in outputs:
        texts[output] = await at_service.report(run_id, output.form, fail_on.value)
    write_all(outputs, texts.__getitem__)
    return settle(outcome, fail_on)


def _outcome(detail: Detail) -> Outcome:
    try:
        return Outcome(detail["verdict"])
    except ValueError:
        raise UndecidedError("the service gives a verdict that this version does not know; upgrade it") from None


def _print_detail(console: Console, detail: Detail, outcome: Outcome) -> None:
    """Print what the service tells of the run: each string of it is a remote's here."""
    names = detail.get("reasons")
    reasons = [harmless(str(name)) for name in names] if isinstance(names, list) else []
    about = harmless(str(detail.get("target")))
    named = f": {', '.join(reasons)}" if reasons and outcome is not Outcome.CLEAN else ""
    console.print(f"[{STYLES[outcome]}] {outcome.name} [/]", end=" ")
    console.print(about + named, markup=False, soft_wrap=True)
    lines = [f"run {harmless(str(detail.get('run_id') or detail.get('id')))}"]
    rollout = detail.get("rollout")
    if isinstance(rollout, dict) and rollout:
        told = ", ".join(f"{harmless(str(name))} {harmless(str(value))}" for name, value in rollout.items())
        lines.append(f"rollout: {told}")
    lines += [_bound(detail.get("bound"))]
    if outcome is not Outcome.CLEAN:
        lines += [f"{name}: first {advice_on(Reason(name)).first}" for name in reasons if name in _KNOWN]
    for line in filter(None, lines):
        console.print(f"  {line}", markup=False, soft_wrap=True)


_KNOWN = frozenset(reason.value for reason in Reason)


def _bound(bound: object) -> str:
    if not isinstance(bound, dict):
        return ""
    counts = f"{bound.get('probes')} probes, {bound.get('conclusive')} conclusive, {bound.get('clean')} clean"
    rate = bound.get("leak_rate_upper95")
    return counts + (f"; leak rate per probe below {rate:.2%} with 95 % confidence" if isinstance(rate, float) else "")


def _in_process(
    console: Console,
    settings: Settings,
    campaign: Campaign,
    facts: Mapping[str, str],
    seconds: float,
    fail_on: FailOn,
    outputs: Sequence[Output],
) -> Exit:
    """Run here; a run that is out of time is closed as what it had found, INCONCLUSIVE at best."""
    log = log_for(settings, None, None)
    display = ProgressDisplay(console)
    work = perform(settings, campaign, Trigger.ROLLOUT, log, display, facts)
    try:
        with stdlib_routed(log), display:
            ended, _ = run_interruptible(asyncio.wait_for(work, seconds))
    except TimeoutError:
        console.print(f"no verdict within {seconds:g} s: the run was ended", markup=False)
        if display.report is None:
            return Exit.UNDECIDED
        ended = display.report
    told = facts_of(ended, fail_on)
    print_facts(console, told)
    write_reports(outputs, told)
    return told.exit
