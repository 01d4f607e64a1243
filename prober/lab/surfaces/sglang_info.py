"""`/server_info` as SGLang's server and its small PD router write it (entrypoints/http_server.py, mini_lb.py)."""

from collections.abc import Mapping

from prober.lab.fixes import Fix
from prober.lab.settings import LabSettings
from prober.lab.surfaces import cluster_facts


def server_info(lab: LabSettings, facts: Mapping[str, object]) -> dict[str, object]:
    """Resolved arguments and sizes; with two roles, both side by side. No API key, although upstream's has one."""
    roles = {role: _role(lab, role, figures) for role, figures in cluster_facts.roles(facts).items()}
    if "unified" in roles:
        return roles["unified"]
    states = [
        state
        for info in roles.values()
        if isinstance(info["internal_states"], list)
        for state in info["internal_states"]
    ]
    return {**{role: [info] for role, info in roles.items()}, "internal_states": states}


def _role(lab: LabSettings, role: str, figures: Mapping[str, float]) -> dict[str, object]:
    mode = None if role == "unified" else role
    arguments: dict[str, object] = {
        "model_path": lab.model,
        "served_model_name": lab.model,
        "context_length": lab.context_tokens,
        "max_total_tokens": None,
        "page_size": lab.page_tokens,
        "chunked_prefill_size": lab.chunked_prefill_tokens,
        "allow_auto_truncate": lab.auto_truncate,
        "enable_metrics": True,
        "disable_radix_cache": True,
        "disaggregation_mode": mode,
        "disaggregation_transfer_backend": "mooncake",
        "disaggregation_enable_kv_checksum": Fix.TRANSFER_CHECKSUM in lab.fixes,
    }
    pool = figures.get("max_total_num_tokens")
    return {
        **arguments,
        "max_total_num_tokens": pool,
        "max_req_input_len": figures.get("max_req_input_len"),
        "status": "ready",
        "version": lab.version,
        "internal_states": [{**arguments, "memory_usage": {"token_capacity": pool}}],
    }
