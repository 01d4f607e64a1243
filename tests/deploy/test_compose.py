"""The compose file: valid, and what it mounts and runs is there."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from prober.config.vault_keyring_file import create_vault_keyring
from prober.domain.target import RESERVED_TOKENS
from prober.lab.scenes import SCENES
from prober.wiring.campaigns import read_settings
from tests.architecture.test_docs import verbs
from tests.support.monitoring import RULES, checked

COMPOSE = RULES.parents[1] / "compose"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    # Round-trip: what the anchors bring is there, as Docker reads it.
    return dict(YAML(typ="safe").load(COMPOSE / "compose.yaml")["services"])


def test_the_schema_of_compose_accepts_it():
    """The published schema of compose files, which check-jsonschema brings along."""
    command = ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE / "compose.yaml")]
    done = subprocess.run(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_is_there(services: dict[str, Any]):
    """The six parts; each file that is mounted exists, each volume is declared, each dependency is a service."""
    volumes = YAML(typ="safe").load(COMPOSE / "compose.yaml")["volumes"]

    assert {"prober", "database", "prometheus", "alertmanager", "grafana", "lab"} <= set(services)
    for service in services.values():
        for mount in service.get("volumes") or ():
            source = mount.split(":")[0]
            assert (COMPOSE / source).exists() if source.startswith(".") else source in volumes, mount
        assert set(service.get("depends_on", ())) <= set(services)


def test_commands_are_verbs(services: dict[str, Any]):
    """What the prober's image is told to do it can do."""
    told = {
        " ".join(service["command"][:2])
        for service in services.values()
        if service.get("image") == "isolation-prober" and "entrypoint" not in service
    }
    scripts = (COMPOSE / "compose.yaml").read_text() + (COMPOSE / "secrets.sh").read_text()
    told |= {match.replace(" new", "") for match in re.findall(r"prober ((?:db|token|key|vault)(?: \w+)?)", scripts)}

    known = set(verbs()) | {name.split()[0] for name in verbs()}
    assert told
    assert [command for command in told if command not in known] == []


def test_the_configuration_fits_the_lab(tmp_path: Path, services: dict[str, Any]):
    """It is accepted, its sizes are those of the scene that the lab serves, and its drain fits into the stop."""
    (tmp_path / "database-url").write_text("postgresql://prober:x@database/prober")
    (tmp_path / "database-url").chmod(0o400)
    create_vault_keyring(tmp_path / "vault.key")
    config = tmp_path / "prober.yaml"
    config.write_text((COMPOSE / "prober.yaml").read_text().replace("/var/lib/prober", str(tmp_path)))
    environment = services["prober"]["environment"]

    loaded = read_settings(config, {name: value for name, value in environment.items() if name != "PROBER_CONFIG"})
    target = loaded.settings.targets["lab"]
    command = services["lab"]["command"]
    scene = SCENES[command[command.index("--scene") + 1]]

    assert (target.context_tokens, target.prefill_pool_tokens, target.decode_pool_tokens) == (
        scene.context_tokens,
        scene.prefill_pool_tokens,
        scene.decode_pool_tokens,
    )
    assert scene.prefill_pool_tokens - RESERVED_TOKENS < scene.context_tokens
    assert int(services["prober"]["stop_grace_period"].rstrip("s")) >= loaded.settings.service.drain_seconds + 10
    assert target.url == f"http://lab:{command[command.index('--port') + 1]}/v1"


def test_our_containers_are_shut_in(services: dict[str, Any]):
    """Nothing of the image can be written to; only what makes the secrets is root, and that has no network."""
    for name, service in services.items():
        if service.get("image") == "isolation-prober" and name != "secrets":
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert "user" not in service
    assert services["secrets"]["network_mode"] == "none"


def test_ports_are_this_machines_alone(services: dict[str, Any]):
    """Nothing is published beyond the loopback address."""
    published = [port for service in services.values() for port in service.get("ports", ())]

    assert published
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_prometheus_accepts_its_configuration(tmp_path: Path):
    """Accepted by promtool, with the rules in the place where compose mounts them."""
    text = (COMPOSE / "prometheus.yaml").read_text(encoding="utf-8")
    document = YAML(typ="safe").load(io.StringIO(text))
    assert document["rule_files"] == ["/etc/prometheus/rules.yaml"]
    document["rule_files"] = [str(RULES)]
    file = tmp_path / "prometheus.yaml"
    file.write_text(json.dumps(document), encoding="utf-8")

    done = checked("promtool", "check", "config", file)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_secrets_are_made_once(tmp_path: Path):
    """The script, run twice: keys that the prober accepts, one password in both places, nothing for others to read."""
    state, database = tmp_path / "state", tmp_path / "database"
    state.mkdir()
    database.mkdir()
    script = (COMPOSE / "secrets.sh").read_text(encoding="utf-8")
    script = script.replace("/var/lib/prober", str(state)).replace("/run/secrets/database", str(database))
    script = script.replace("chown -R 10001:10001", ": instead of chown")
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"

    made = []
    for _ in range(2):
        subprocess.run(["sh", "-c", script], check=True, env={"PATH": path}, timeout=60)
        made.append({file.name: file.read_bytes() for file in (*state.iterdir(), *database.iterdir())})

    assert made[0] == made[1]
    assert set(made[0]) == {"canary.key", "vault.key", "database-url", "password"}
    password = made[0]["password"].decode()
    assert len(password) == 48
    assert made[0]["database-url"].decode() == f"postgresql://prober:{password}@database/prober"
    assert [file.name for file in state.iterdir() if file.stat().st_mode & 0o077] == []
