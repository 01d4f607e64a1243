"""K12: results are kept under an id that the client chose."""

from collections.abc import Hashable

from prober.lab.faults.fault import Fault


class ClientIdKeyed(Fault):
    """The client's `X-Request-Id` is taken for unique."""

    NAME = "client_id_keyed"
    KIND = "K12"
    SUMMARY = (
        "Results wait under the client's X-Request-Id; of two requests that share one at the same time the later takes "
        "the mailbox over, gets the results of both, and the earlier client waits for ever."
    )
    SOURCE = "vLLM up to 0.29, CVE-2026-105755, pull requests #10583 and #27987"
    SCENE = "gateway"
    SCENARIO = "twins"
    FIXES = frozenset({"internal_request_ids"})

    def mailbox_key(self, number: int, client_id: str) -> Hashable:
        """Take the client's."""
        if client_id and self.dice.strikes(ClientIdKeyed.NAME, client_id):
            return client_id
        return super().mailbox_key(number, client_id)
