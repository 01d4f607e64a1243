"""Showing settings."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from prober.config.dump import dump
from prober.config.loader import LoadedSettings, load_settings
from prober.config.secret import MASK

SECRET = "sk-live-9f8E7d6C5b4A"
TEXT = f"""\
version: 1
key_file: canary.key
database: postgresql://u:{SECRET}@db/x
targets:
  glm:
    url: https://api.example/v1
    dialect: openai-chat
    model: glm-5.3
    context_tokens: 8192
    prefill_pool_tokens: 2048
    decode_pool_tokens: 4096
    overlong: truncate
    text_form: numbered_lines
    shared: false
    thinking: true
    temperature: 0.5
    build: b7
    hang_seconds: 10
    deadline_seconds: 20
    max_run_tokens: 99
    proxy: http://u:{SECRET}@proxy.example
    physical_bound: {{active_parameters: 32e9, gpus: 8, peak_flops_per_gpu: 2e15}}
    headers: {{x-secret: {SECRET}}}
    body: {{user: {SECRET}, nothing: null}}
    tenants:
      - {{name: alpha, number: 7, credential: {SECRET}}}
      - {{name: bravo, credential: {SECRET}-b}}
    scenarios: [baseline]
    settings: {{over_limit_probes: 3, sweep_bisect: false}}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    path = tmp_path / "prober.yaml"
    path.write_text(TEXT)
    return load_settings(path, {}, known_dialects=["openai-chat"], known_scenarios=["baseline", "limit_sweep"])


def test_dump_is_yaml_with_defaults_and_without_secrets(loaded: LoadedSettings):
    """What is in force can be read back; secrets, header values and body values are masks."""
    text = dump(loaded.settings)
    assert SECRET not in text
    content = YAML(typ="safe", pure=True).load(text)
    target = content["targets"]["glm"]
    assert content["database"] == MASK
    assert (target["page_tokens"], target["overlong"], target["text_form"]) == (64, "truncate", "numbered_lines")
    assert target["proxy"] == MASK
    assert target["headers"] == {"x-secret": MASK}
    assert target["body"]["user"] == MASK
    assert target["tenants"] == [
        {"name": "alpha", "number": 7, "credential": MASK},
        {"name": "bravo", "number": 1, "credential": MASK},
    ]
    assert "ca_file" not in target
    shown = loaded.settings.model_dump(exclude_none=True)
    assert list(content)[:4] == ["version", "key_file", "database", "targets"]
    assert list(content) == [name for name in shown if shown[name] not in ({}, (), [])]
