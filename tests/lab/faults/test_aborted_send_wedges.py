"""An abort under a sender leaves the sender blocked."""

from prober.lab.cluster import Cluster
from prober.lab.events import Rejection
from prober.lab.handoff import TRANSFER_WORKERS
from prober.lab.scenes import SCENES
from tests.support.cluster import ask_tokens, hang_up, prompt, request, running, until

WATCHFUL = SCENES["small-watchful"]
FAULT = {"aborted_send_wedges": 1.0}


async def abort_sends(cluster: Cluster, count: int) -> None:
    """Hang up so often while pages are on the wire."""
    decode = cluster.pools["decode"]
    for number in range(count):
        before = decode.writes
        text = prompt(f"t{number:03d}", 6_000, cluster.tokenizer)
        await hang_up(cluster, request("donor", text), lambda before=before: decode.writes > before)
        await until(lambda: not cluster.pools["prefill"].used_tokens)


async def test_once_all_workers_are_lost_nobody_is_served():
    """The next request waits in vain; up to then all was well."""
    async with running(WATCHFUL, faults=FAULT) as cluster:
        await abort_sends(cluster, TRANSFER_WORKERS - 1)
        assert "amber" in (await ask_tokens(cluster, "amber", 500)).text
        await abort_sends(cluster, 1)
        assert isinstance((await ask_tokens(cluster, "birch", 500)).events[-1], Rejection)


async def test_workers_come_back_where_sends_can_be_cancelled():
    """With the fix any number of aborts leaves the cluster serving."""
    fixes = frozenset({"cancellable_sends"})
    async with running(WATCHFUL, faults=FAULT, fixes=fixes) as cluster:
        await abort_sends(cluster, TRANSFER_WORKERS + 1)
        assert "birch" in (await ask_tokens(cluster, "birch", 500)).text
