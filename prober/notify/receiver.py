"""One receiver: its format, its secret, the way to it."""

import datetime as dt
from collections.abc import Sequence

from prober.domain.notice import Notice, Route
from prober.notify.formats.format import Format
from prober.notify.message import Delivery, Fate, delivery_of
from prober.notify.ports import HttpClient


class Receiver:
    """Sends notices to one receiver. Never raises for what the receiver did, and never shows its secret."""

    def __init__(
        self, *, route: Route, form: Format, client: HttpClient, secret: str | None, throttle_per_minute: int
    ) -> None:
        self.route = route
        self.form = form
        self.throttle_per_minute = throttle_per_minute
        self._client = client
        self._secret = secret

    def __repr__(self) -> str:
        """Name only."""
        return f"Receiver({self.name})"

    @property
    def name(self) -> str:
        """As the configuration calls it."""
        return self.route.receiver

    async def send(self, notices: Sequence[Notice], now: dt.datetime) -> Delivery:
        """Send notices as one; several messages, where the format needs them, until one is not taken."""
        delivery = Delivery(fate=Fate.TAKEN, answer="nothing to tell this receiver")
        for message in self.form.compose(notices, self._secret, now):
            delivery = delivery_of(await self._client.post(message.headers, message.body))
            if delivery.fate is not Fate.TAKEN:
                break
        return delivery
