"""Probes a real llama.cpp server: baseline and limit_sweep, the true limit met to the token.

`python -m tests.engines.llamacpp.probe` prints the report, and the limit found beside the limit the server is run with.
"""

import asyncio
import json
import pathlib
import sys
import tempfile

from rich.console import Console

from prober.cli.progress import ProgressDisplay
from prober.config.keyring_file import create_keyring
from prober.domain.campaign import Trigger
from prober.domain.verdict import RunReport
from prober.report.console import print_report
from prober.runner.ports import Telemetry
from prober.store.migrate import upgrade
from prober.telemetry.logs import LogFormat, open_log
from prober.telemetry.redaction import Redactor
from prober.wiring.campaigns import campaign_of, read_settings
from prober.wiring.prober import open_prober
from prober.wiring.system import SystemClock
from tests.engines.llamacpp.server import MODEL, llama_server

CONTEXT_TOKENS = 1_024
KEYS = {"ALPHA_KEY": "engine-alpha", "BRAVO_KEY": "engine-bravo"}


def document(url: str, folder: pathlib.Path) -> dict[str, object]:
    """The configuration, as an operator of this server would write it."""
    return {
        "version": 1,
        "key_file": "canary.key",
        "database": f"sqlite+aiosqlite:///{folder / 'prober.db'}",
        "targets": {
            "llamacpp": {
                "url": url,
                "dialect": "openai-chat",
                "model": MODEL,
                "context_tokens": CONTEXT_TOKENS,
                "shared": False,
                "ask": "end_phrase",
                "hang_seconds": 300,
                "tenants": [
                    {"name": "alpha", "credential": "${ALPHA_KEY}"},
                    {"name": "bravo", "credential": "${BRAVO_KEY}"},
                ],
                "scenarios": ["baseline", "limit_sweep"],
                "settings": {"baseline_probes": 2, "anchor_probes": 1, "seed_tokens": 0, "sweep_max_probes": 20},
            }
        },
    }


async def probe(folder: pathlib.Path, *watchers: Telemetry) -> RunReport:
    """Start the server, run both scenarios, stop the server."""
    create_keyring(folder / "canary.key")
    with llama_server(CONTEXT_TOKENS, tuple(KEYS.values()), folder / "server.log") as url:
        config = folder / "prober.yaml"
        config.write_text(json.dumps(document(url, folder)), encoding="utf-8")
        settings = read_settings(config, KEYS).settings
        await upgrade(settings.database.reveal())
        log = open_log(sys.stderr, form=LogFormat.CONSOLE, redactor=Redactor(), now=SystemClock().now, level=40)
        async with open_prober(settings, log=log, watchers=watchers) as prober:
            return await prober.run(campaign_of(settings, "llamacpp"), Trigger.MANUAL)


def main() -> None:
    """Print the run, then the limit found."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="prober-engine-") as folder, ProgressDisplay(console) as display:
        report = asyncio.run(probe(pathlib.Path(folder), display))
    print_report(console, report)
    console.print(f"context the server runs with: {CONTEXT_TOKENS:,} tokens", highlight=False)


if __name__ == "__main__":
    main()
