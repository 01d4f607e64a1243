"""Two keys of one account, given as two tenants: noticed over real sockets, whole runs of the command."""

import collections
import dataclasses
import json
from pathlib import Path

import pytest

from prober.cli.exits import Exit
from tests.support.command import CREDENTIALS, Finished, Workplace, workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import Handler, Peer, hostile

ALPHA, BRAVO = (f"Bearer {CREDENTIALS[name]}" for name in ("ALPHA_KEY", "BRAVO_KEY"))


@dataclasses.dataclass
class Provider:
    """Serves an LLM to accounts by their keys, and says in headers what real providers say."""

    account_of: dict[str, str]
    """Credential -> account."""
    header: str
    """The header that tells: an account's name, or what it has left."""
    llm: FakeLlm = dataclasses.field(default_factory=FakeLlm)
    left: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def handler(self) -> Handler:
        answer = self.llm.handler()

        async def told(peer: Peer) -> None:
            await answer(_Telling(peer, self._extra))

        return told

    def _extra(self, credential: str) -> bytes:
        account = self.account_of[credential]
        self.left[account] -= 1
        value = account if self.header.endswith("organization") else str(5_000 + self.left[account])
        return f"{self.header}: {value}\r\n".encode()


class _Telling:
    """A peer whose answers bear one more header."""

    def __init__(self, peer: Peer, extra) -> None:  # noqa: ANN001 - a function of the credential
        self._peer = peer
        self._extra = extra
        self._has_head = False

    def __getattr__(self, name: str):  # noqa: ANN204 - whatever a peer has
        return getattr(self._peer, name)

    async def send(self, data: bytes, mark: str = "") -> None:
        if not self._has_head:
            self._has_head = True
            line, _, rest = data.partition(b"\r\n")
            data = line + b"\r\n" + self._extra(self._peer.call.headers["authorization"]) + rest
        await self._peer.send(data, mark)


async def run(place: Workplace, provider: Provider, *arguments: str, **target: object) -> Finished:
    async with hostile(provider.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", **target)
        return await place.invoke_beside("run", *arguments)


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return workplace(tmp_path)


BOTH = {
    "baseline_tokens": 2_000,
    "baseline_probes": 1,
    "anchor_probes": 1,
    "seed_tokens": 3_000,
    "donor_tokens": 1_500,
    "over_limit_probes": 3,
}
"""Several requests of each tenant."""

ONE = {ALPHA: "acme-corp", BRAVO: "acme-corp"}
TWO = {ALPHA: "acme-corp", BRAVO: "other-corp"}


@pytest.mark.parametrize(("accounts", "code"), [(ONE, Exit.UNDECIDED), (TWO, Exit.CLEAN)])
async def test_one_organisation_in_all_answers_is_noticed(place: Workplace, accounts: dict[str, str], code: Exit):
    """A healthy target asked by two keys of one account is not CLEAN; by keys of two accounts it is."""
    finished = await run(place, Provider(accounts, "openai-organization"), settings=BOTH)

    assert finished.code == code
    assert ("one_account" in finished.said) == (accounts is ONE)
    if accounts is ONE:
        assert (
            "Tenants alpha and bravo are one account: all their answers that bear openai-organization" in finished.said
        )
        assert [reasons for _, reasons, _ in place.run_rows()] == [["one_account"]]
    # The peer's name for the account is stored nowhere.
    assert "acme" not in finished.said
    assert b"acme-corp" not in place.database.read_bytes()


@pytest.mark.parametrize(("accounts", "is_noticed"), [(ONE, True), (TWO, False)])
async def test_one_quota_that_both_count_down_is_noticed(
    place: Workplace,
    accounts: dict[str, str],
    is_noticed: bool,  # noqa: FBT001
):
    """Requests one after the other, by turns: a remaining count that goes down with either's belongs to one account."""
    provider = Provider(accounts, "x-ratelimit-remaining-requests")

    finished = await run(place, provider, "--scenario", "cache_sharing")

    assert len(provider.llm.prompts) > 40
    assert ("count down one x-ratelimit-remaining-requests together" in finished.said) == is_noticed


async def test_a_leak_between_two_keys_of_one_account_is_still_a_leak(place: Workplace):
    """Another request's text in an answer is a fault whoever sent it: the worse outcome stands."""
    provider = Provider(ONE, "openai-organization", llm=FakeLlm(leaks=True))

    finished = await run(place, provider, settings=BOTH)

    assert finished.code == Exit.VIOLATION
    assert "one_account" in finished.said


@pytest.mark.parametrize("is_own", [False, True])
async def test_an_account_in_the_address_is_noticed(place: Workplace, is_own: bool):  # noqa: FBT001
    """Workers AI's: two tokens under one account id are one account; an address per tenant makes them two."""
    provider = Provider(TWO, "x-unknown")
    async with hostile(provider.handler()) as server:
        base = f"http://127.0.0.1:{server.port}/client/v4/accounts"
        place.configure(f"{base}/{'a1' * 16}/ai/v1", settings=BOTH)
        document = json.loads(place.config.read_text())
        if is_own:
            document["targets"]["hostile"]["tenants"][1]["url"] = f"{base}/{'b2' * 16}/ai/v1"
            place.config.write_text(json.dumps(document))
        finished = await place.invoke_beside("run")

    assert finished.code == (Exit.CLEAN if is_own else Exit.UNDECIDED)
    assert ("the configuration gives both the same account" in finished.said) != is_own
    paths = {call.headers["authorization"]: call.path.split("/")[4] for call in server.calls}
    assert paths == {ALPHA: "a1" * 16, BRAVO: ("b2" if is_own else "a1") * 16}
    assert "a1a1" not in finished.said
