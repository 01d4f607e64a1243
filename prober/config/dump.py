"""Settings as YAML for people to look at: complete, defaults included, without a secret."""

import io
from typing import Any

from ruamel.yaml import YAML

from prober.config.schema import Settings
from prober.config.secret import MASK


def dump(settings: Settings) -> str:
    """Render the settings in force. Secrets, and all values of `body`, are masked."""
    content = settings.model_dump(mode="json", exclude_none=True)
    for target in content["targets"].values():
        target["body"] = dict.fromkeys(target["body"], MASK)
    out = io.StringIO()
    writer = YAML()
    writer.dump(_plain(content), out)
    return out.getvalue()


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Drop what is empty: an absent key and an empty one mean the same here."""
    if isinstance(value, dict):
        inner = {key: _plain(each) for key, each in value.items()}
        return {key: each for key, each in inner.items() if each not in ({}, [])}
    return [_plain(each) for each in value] if isinstance(value, list) else value
