"""Ordinary customers: plain English prompts that keep the pools warm and carry nothing attributable."""

import random
from collections.abc import Iterator

from prober.lab.events import GenerateRequest

_PEOPLE = ("Martha Keller", "Owen Price", "Lena Fischer", "Tom Abbott", "Priya Nair", "Hugo Lambert", "Ines Duarte")
_PLACES = ("Leeds", "Bergen", "Porto", "Ghent", "Tampere", "Galway", "Bologna", "Brno")
_THINGS = ("pump housings", "oak shelves", "sensor boards", "wool blankets", "paper rolls", "glass lids", "ball valves")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_LETTER = (
    "Dear {person}, thank you for your letter about the {thing} that we sent to {place} last {day}.",
    "The carrier reports that two pallets were left at the yard, and the driver could not wait for a signature.",
    "We would like to offer a replacement within ten days, at no cost, if {person} agrees by {day}.",
    "Please let our office in {place} know which of the two addresses is correct.",
    "The invoice for the {thing} has been corrected and will arrive in {place} before {day}.",
)
_CONTRACT = (
    "The supplier shall deliver the {thing} to the premises in {place} no later than the {day} after the order.",
    "Either party may end this agreement in writing, provided that all open orders have been settled.",
    "{person} acts as the contact for all questions of quality, and reports to the buyer every {day}.",
    "Liability for damage to the {thing} during transport to {place} stays with the carrier.",
)
_CODE = (
    "def ship_order(order, warehouse):",
    "    if order.city == '{place}' and warehouse.has_stock('{thing}'):",
    "        return warehouse.reserve(order, contact='{person}')",
    "    raise LookupError('no stock for ' + order.number)",
    "# {person} asked for this check after the outage on {day}",
)
_KINDS = (
    (_LETTER, "Summarise the letters above in two sentences."),
    (_CONTRACT, "Give a short summary of the contract above."),
    (_CODE, "Summarise what the code above does."),
)
_TOKENS_PER_LINE = 17
"""About; sizes need not be exact."""
_POPULATION = 12
"""Customers who warm the pools up when none keep coming afterwards."""


class Customers:
    """A seeded population; customer k writes prompts of its own kind."""

    def __init__(self, count: int, prompt_tokens: int, seed: int) -> None:
        self._count = count or _POPULATION
        self._prompt_tokens = prompt_tokens
        self._random = random.Random(f"customers {seed}")  # noqa: S311 - simulation, no secret

    def requests(self) -> Iterator[GenerateRequest]:
        """Endless requests, each of the next customer's, between half and twice the typical size."""
        number = 0
        while True:
            customer = number % self._count
            tokens = int(self._prompt_tokens * 2 ** self._random.uniform(-1, 1))
            yield GenerateRequest(
                tenant=f"customer-{customer:03d}",
                messages=(("user", self._prompt(customer, tokens)),),
                max_tokens=48,
                temperature=0.0,
                stream=True,
                request_id=f"customer-{number:06d}",
            )
            number += 1

    def _prompt(self, customer: int, tokens: int) -> str:
        lines, question = _KINDS[customer % len(_KINDS)]
        draw = self._random
        written = [
            lines[index % len(lines)].format(
                person=draw.choice(_PEOPLE),
                place=draw.choice(_PLACES),
                thing=draw.choice(_THINGS),
                day=draw.choice(_DAYS),
            )
            for index in range(max(1, tokens // _TOKENS_PER_LINE))
        ]
        return "\n".join([*written, question, ""])
