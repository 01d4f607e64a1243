"""Reading surfaces over a real socket."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from prober.lab.faults import Fix
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings, Topology
from prober.lab.surfaces import exposition
from prober.lab.surfaces.exposition import Family, Kind, Sample
from tests.support.lab_clients import KEYS, chat_body, get, post
from tests.support.scripted_cluster import ScriptedCluster

AGGREGATED = LabSettings(keys=KEYS, topology=Topology.AGGREGATED, context_tokens=8192, prefill_pool_tokens=2048)
DISAGGREGATED = LabSettings(keys=KEYS, fixes=frozenset({Fix.TRANSFER_CHECKSUM}), auto_truncate=True)


def series(text: str) -> dict[tuple[str, str, str], float]:
    """(name, engine_type, outcome) -> value, by an independent parser."""
    return {
        (sample.name, sample.labels["engine_type"], sample.labels.get("outcome", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_models_advertise_the_context_and_not_the_pool():
    """`max_model_len` is the context even where the pool is smaller: the incident's trap, kept."""
    async with LabServer(AGGREGATED) as server:
        response = await get(f"{server.base_url}/v1/models")
    [card] = response.json()["data"]
    assert (card["id"], card["max_model_len"]) == ("lab-llm", 8192)


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
async def test_server_info_of_one_pool_is_flat(path: str):
    """An aggregated server says its pool and the longest input it admits."""
    async with LabServer(AGGREGATED) as server:
        info = (await get(server.base_url + path)).json()
    assert info["max_total_num_tokens"] == 2048
    assert info["max_req_input_len"] == 2042
    assert info["context_length"] == 8192
    assert info["disaggregation_mode"] is None
    assert info["internal_states"][0]["memory_usage"] == {"token_capacity": 2048}


async def test_server_info_of_two_roles_has_both_pools_and_the_flags():
    """A router answers with both roles side by side; flags that decide about leaks are in it, keys are not."""
    async with LabServer(DISAGGREGATED) as server:
        response = await get(f"{server.base_url}/server_info")
    info: dict[str, Any] = response.json()
    assert info["prefill"][0]["max_total_num_tokens"] == 681_280
    assert info["decode"][0]["max_total_num_tokens"] == 1_100_032
    assert info["prefill"][0]["disaggregation_mode"] == "prefill"
    assert info["decode"][0]["disaggregation_enable_kv_checksum"] is True
    assert info["decode"][0]["allow_auto_truncate"] is True
    assert [state["disaggregation_mode"] for state in info["internal_states"]] == ["prefill", "decode"]
    assert "key-of-a" not in response.text


@pytest.mark.parametrize("path", ["/v1/models", "/server_info"])
async def test_models_and_server_info_need_a_key(path: str):
    """Both are behind the key, with SGLang's 401."""
    async with LabServer(AGGREGATED) as server:
        response = await get(server.base_url + path, {})
    assert (response.status_code, response.json()) == (401, {"error": "Unauthorized"})


async def test_health_and_metrics_need_no_key():
    """Upstream never protects them, which is how the precondition can be seen from outside."""
    async with LabServer(DISAGGREGATED) as server:
        health = await get(f"{server.base_url}/health", {})
        metrics = await get(f"{server.base_url}/metrics", {})
    assert health.status_code == 200
    assert metrics.headers["content-type"] == exposition.CONTENT_TYPE
    values = series(metrics.text)
    assert values["sglang:max_total_num_tokens", "prefill", ""] == 681_280
    assert values["sglang:max_total_num_tokens", "decode", ""] == 1_100_032
    assert values["sglang:context_len", "prefill", ""] == 1_048_576
    assert values["sglang:page_size", "decode", ""] == 64
    assert values["sglang:num_pages", "prefill", ""] == 681_280 // 64
    assert values["sglang:kv_available_tokens", "decode", ""] == 1_100_032
    assert values["sglang:token_usage", "decode", ""] == 0
    releases = {key[2]: value for key, value in values.items() if key[0] == "sglang:decode_deferred_kv_release_total"}
    assert releases == {"drained": 0, "timeout": 0, "error": 0}


async def test_metrics_of_one_pool_are_unified():
    """An aggregated server's only role is `unified`."""
    async with LabServer(AGGREGATED) as server:
        values = series((await get(f"{server.base_url}/metrics", {})).text)
    assert {role for _, role, _ in values} == {"unified"}


async def test_records_hold_times_and_counts_and_no_text():
    """The oracle says who asked, when what happened on the monotonic clock, and nothing that was said."""
    async with LabServer(DISAGGREGATED, cluster=ScriptedCluster()) as server:
        await post(f"{server.base_url}/v1/chat/completions", chat_body(stream=True))
        response = await get(f"{server.base_url}/lab/records", {})
    payload = response.json()
    assert payload["clock"] == "CLOCK_MONOTONIC"
    [record] = payload["records"]
    assert (record["tenant"], record["kind"], record["status"]) == ("tenant-a", "served", 200)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (17, 4)
    assert record["headers_received"] <= record["body_received"] <= record["first_content"] <= record["ended"]
    assert "fox" not in response.text
    assert "key-of-a" not in response.text


async def test_metrics_move_with_the_cluster():
    """Counters and pool figures are the cluster's own at the moment of the scrape."""
    pool = {"max_total_num_tokens": 640, "num_pages": 10, "available_tokens": 480, "used_tokens": 160}
    numbers = {"transfer_failures": 3, "deferred_releases_timeout": 2, "bootstrap_failures": 1, "note": "x"}
    cluster = ScriptedCluster(numbers={"roles": {"prefill": pool, "decode": pool}, "counters": numbers})
    async with LabServer(DISAGGREGATED, cluster=cluster) as server:
        values = series((await get(f"{server.base_url}/metrics", {})).text)
        records = (await get(f"{server.base_url}/lab/records", {})).json()
    assert values["sglang:token_usage", "decode", ""] == 0.25
    assert values["sglang:num_transfer_failed_reqs_total", "decode", ""] == 3
    assert values["sglang:num_bootstrap_failed_reqs_total", "prefill", ""] == 1
    assert values["sglang:decode_deferred_kv_release_total", "decode", "timeout"] == 2
    assert records["counters"] == {"transfer_failures": 3, "deferred_releases_timeout": 2, "bootstrap_failures": 1}


async def test_figures_that_are_missing_count_as_zero():
    """A cluster that says nothing must not break the scrape."""
    async with LabServer(DISAGGREGATED, cluster=ScriptedCluster(numbers={"roles": {"decode": {}}})) as server:
        values = series((await get(f"{server.base_url}/metrics", {})).text)
    assert values["sglang:token_usage", "decode", ""] == 0


def test_exposition_survives_an_independent_parser():
    """Escapes, special numbers and empty families are read back as written."""
    labels = {"model_name": 'a"b\\c\nd', "engine_type": "x"}
    families = (
        Family(name="a_total", kind=Kind.COUNTER, help="one\ntwo \\ three", samples=()),
        Family(
            name="b",
            kind=Kind.GAUGE,
            help="",
            samples=(
                Sample(labels=labels, value=float("inf")),
                Sample(labels={}, value=float("-inf")),
                Sample(labels={"n": "1"}, value=float("nan")),
                Sample(labels={"n": "2"}, value=1_100_032),
            ),
        ),
    )
    parsed = {family.name: family for family in text_string_to_metric_families(exposition.render(families))}
    assert parsed["a"].documentation == "one\ntwo \\ three"
    first, second, third, fourth = parsed["b"].samples
    assert first.labels == labels
    assert (first.value, second.value, fourth.value) == (float("inf"), float("-inf"), 1_100_032)
    assert third.value != third.value
