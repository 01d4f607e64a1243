"""Decisions in front of the inference server: identity, response cache, connections, routing, truncation, errors."""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import ClassVar

from prober.lab.events import GenerateRequest


class FrontSeams:
    """Right decisions of the gateway. `number` is its own count of requests, from 1, which nobody else can choose."""

    def mailbox_key(self, number: int, client_id: str) -> Hashable:
        """Under what the results of a request are kept until its client takes them; `client_id` may be empty."""
        del client_id
        return number

    def fan_out_order(self, tick: int, replies: int) -> Sequence[int]:
        """Whose mailbox each reply of one tick goes to, both counted in the order of the requests."""
        del tick
        return range(replies)

    def cache_key(self, request: GenerateRequest) -> Hashable:
        """What must be equal for a stored response to answer a request: tenant and all that shapes the answer."""
        return dataclasses.replace(request, request_id="", client_id="", session="")

    def similarity_threshold(self, number: int) -> float | None:
        """Likeness of prompts, 0..1, from which the response to one answers another, whoever asks; None: never."""
        del number
        return None

    def puts_back_unread(self, number: int) -> bool:
        """Whether a connection goes back to the pool although the reply to a cancelled request still comes on it."""
        del number
        return False

    def leaves_group(self, session: str) -> bool:
        """Whether a new session may be given a home among the backends of other model groups."""
        del session
        return False

    def matches_raw_names(self, number: int) -> bool:
        """Whether a model's name is also looked up among the names by which other groups know their own LLMs."""
        del number
        return False

    CUTS_PROMPTS: ClassVar[bool] = False
    """Whether prompts are measured at the gateway, and those above its window cut."""

    def drops_head(self, number: int) -> bool:
        """Whether a prompt above the gateway's window loses its beginning."""
        del number
        return False

    def drops_tail(self, number: int) -> bool:
        """Whether a prompt above the gateway's window loses its end."""
        del number
        return False

    def passes_error_on(self, number: int) -> bool:
        """Whether the client is told when its request was refused or has failed, rather than seeing the answer end."""
        del number
        return True

    def answers_refusal(self, number: int) -> bool:
        """Whether a refusal ends the wait for an answer."""
        del number
        return True
