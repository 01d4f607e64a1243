"""`/server_info` as SGLang's server and its small PD router write it (entrypoints/http_server.py, mini_lb.py)."""

from prober.lab.faults import Fix
from prober.lab.settings import LabSettings, Topology

RESERVED_BY_ADMISSION = 6
"""`max_req_input_len` = min(context - 1, pool - 1) - 5 (managers/tp_worker.py)."""


def server_info(lab: LabSettings) -> dict[str, object]:
    """Resolved arguments and sizes. No API key stands in it, although upstream's has one."""
    if lab.topology is Topology.AGGREGATED:
        return _role(lab, None, lab.prefill_pool_tokens)
    prefill = _role(lab, "prefill", lab.prefill_pool_tokens)
    decode = _role(lab, "decode", lab.decode_pool_tokens)
    return {"prefill": [prefill], "decode": [decode], "internal_states": decode["internal_states"]}


def _role(lab: LabSettings, mode: str | None, pool_tokens: int) -> dict[str, object]:
    arguments: dict[str, object] = {
        "model_path": lab.model,
        "served_model_name": lab.model,
        "context_length": lab.context_tokens,
        "max_total_tokens": pool_tokens,
        "page_size": lab.page_tokens,
        "chunked_prefill_size": lab.chunked_prefill_tokens,
        "allow_auto_truncate": lab.auto_truncate,
        "enable_metrics": True,
        "disable_radix_cache": True,
        "disaggregation_mode": mode,
        "disaggregation_transfer_backend": "mooncake",
        "disaggregation_enable_kv_checksum": Fix.TRANSFER_CHECKSUM in lab.fixes,
    }
    state = {**arguments, "memory_usage": {"token_capacity": pool_tokens}}
    return {
        **arguments,
        "max_total_num_tokens": pool_tokens,
        "max_req_input_len": min(lab.context_tokens, pool_tokens) - RESERVED_BY_ADMISSION,
        "status": "ready",
        "version": lab.version,
        "internal_states": [state],
    }
