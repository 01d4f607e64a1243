"""`prober validate`: check the configuration, send nothing."""

from typing import Annotated

import typer

from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.cli.terminal import open_console
from prober.config.dump import dump
from prober.config.keyring_file import load_keyring
from prober.config.schema import Settings
from prober.plan.rehearsal import estimate
from prober.report.console import spending_words
from prober.wiring.campaigns import campaign_of, connection_of


def validate(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    show: Annotated[bool, typer.Option("--show", help="Print the settings in force, secrets masked.")] = False,
) -> None:
    """Check configuration, key file and connections' settings offline; estimate what each target's run sends."""
    settings = load(config)
    keyring = load_keyring(settings.key_file)
    console = open_console()
    if show:
        console.print(dump(settings), markup=False, soft_wrap=True)
    console.print(f"{config}: valid; canary key {keyring.fingerprint()}, epoch {keyring.current_epoch}", markup=False)
    console.print(_vault_line(settings), markup=False)
    for name, target in settings.targets.items():
        connection_of(target)
        campaign = campaign_of(settings, name)
        spending = spending_words(estimate(campaign))
        console.print(f"  {name}: a run sends about {spending} (cap {campaign.max_run_tokens:,})", markup=False)


def _vault_line(settings: Settings) -> str:
    keyring = settings.vault.keyring
    if keyring is None:
        return "no vault key: of foreign text only hashes and lengths will be kept"
    return f"vault key {keyring.current}, {len(keyring.keys)} on the ring"
