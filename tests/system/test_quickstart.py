"""A newcomer gets from nothing to a finding, an alert and a target of their own by the documents' own commands."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.markdown import document
from tests.support.terminals import Terminals, blocks, check_out

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time, pytest.mark.timeout(900)]

PORTS = {"lab": 8000, "pager": 9099, "service": 8787}


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Terminals]:
    """In a fresh checkout."""
    checkout, state = tmp_path / "checkout", tmp_path / "state"
    checkout.mkdir()
    state.mkdir()
    check_out(checkout)
    with contextlib.closing(Terminals(checkout, state)) as opened:
        yield opened


def followed(terminals: Terminals, page: str, on_block: Callable[[str], None] = lambda _: None) -> dict[str, str]:
    """Execute all blocks of a page; what was printed, by the first line of each."""
    printed = {}
    for terminal, block in blocks(document(page)):
        if terminal is None:
            code, printed[block.splitlines()[0]] = terminals.typed(block)
            assert code == 0, f"{block}\n{printed[block.splitlines()[0]]}"
        else:
            terminals.leave_running(terminal, block, PORTS[terminal])
        on_block(block)
    return printed


def printed_of(printed: dict[str, str], beginning: str) -> str:
    """What the one block printed that begins like this."""
    (found,) = [text for line, text in printed.items() if line.startswith(beginning)]
    return found


def test_the_quickstart_does_what_it_says(terminals: Terminals):
    """Every block works as written: leak found, repaired cluster cleared, pager told, own target validated."""
    verdicts = []

    def watch(block: str) -> None:
        if "prober gate" in block:
            verdicts.append(told_within(terminals, "rollout.verdict", 30))

    printed = followed(terminals, "docs/quickstart.md", watch)

    found = printed_of(printed, "prober run --report")
    assert "VIOLATION  lab: foreign_canary" in found
    assert "exit code 1" in found
    listed = printed_of(printed, "prober findings list")
    assert "foreign_canary" in listed
    cleared = printed["prober run"]
    assert "CLEAN  lab" in cleared
    assert "resolved" in cleared
    assert "open " not in cleared
    gate = printed_of(printed, "export PROBER_URL")
    assert "VIOLATION" in gate
    assert "exit code 1" in gate
    pages = [line.partition(" ")[::2] for line in terminals.printed("pager").splitlines() if line.startswith("issue.")]
    assert {event for event, _ in pages} >= {"issue.reopened"}
    assert any(json.loads(body)["issue"]["reason"] == "foreign_canary" for _, body in pages)
    assert verdicts == [True]
    assert 'prober_open_issues{outcome="violation"' in printed_of(printed, "prober findings ack")
    assert "tokens" in printed_of(printed, "cat > staging.yaml")


def told_within(terminals: Terminals, event: str, seconds: float) -> bool:
    """Whether the pager hears of an event; the outbox is emptied within seconds."""
    until = time.monotonic() + seconds
    while event not in terminals.printed("pager"):
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_the_readmes_commands_do_what_they_say(terminals: Terminals):
    """The demo finds and clears; the example's endpoint, which does not exist, is INCONCLUSIVE and never clean."""
    demo, own = [block for _, block in blocks(document("README.md"))]
    code, played = terminals.typed(demo)
    assert code == 0
    assert "CLEAN" in played

    code, said = terminals.typed(own)

    assert code == 3, said
    assert "prober.yaml: valid" in said
    assert "INCONCLUSIVE  staging: unreachable" in said
