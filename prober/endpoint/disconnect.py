"""Planned disconnects: when our side hangs up on purpose."""

import asyncio

from prober.domain.probe import Disconnect, DisconnectMoment


class HangUp:
    """Arms a timeout for a planned disconnect and disarms it when its moment has passed.

    `timeout` is not armed yet; the caller runs the exchange within it.
    """

    def __init__(self, plan: Disconnect | None) -> None:
        self._plan = plan
        self.timeout = asyncio.timeout(None)

    def on_request_start(self) -> None:
        """Arm BEFORE_HEADERS."""
        self._arm(DisconnectMoment.BEFORE_HEADERS)

    def on_body_received(self) -> None:
        """Arm MID_PREFILL: the peer has the whole prompt, as far as can be told."""
        self._arm(DisconnectMoment.MID_PREFILL)

    def on_headers(self) -> None:
        """Disarm BEFORE_HEADERS."""
        self._disarm(DisconnectMoment.BEFORE_HEADERS)

    def on_first_token(self) -> None:
        """Disarm MID_PREFILL, arm MID_STREAM."""
        self._disarm(DisconnectMoment.MID_PREFILL)
        self._arm(DisconnectMoment.MID_STREAM)

    def is_due_after(self, tokens: int) -> bool:
        """True once AFTER_TOKENS has its tokens."""
        return self._is(DisconnectMoment.AFTER_TOKENS) and self._plan is not None and tokens >= self._plan.after_tokens

    def _is(self, moment: DisconnectMoment) -> bool:
        return self._plan is not None and self._plan.moment is moment

    def _arm(self, moment: DisconnectMoment) -> None:
        if self._plan is not None and self._plan.moment is moment and self.timeout.when() is None:
            self.timeout.reschedule(asyncio.get_running_loop().time() + self._plan.after_seconds)

    def _disarm(self, moment: DisconnectMoment) -> None:
        if self._is(moment) and not self.timeout.expired():
            self.timeout.reschedule(None)
