"""Surfaces that say what the lab is: models, server info, health, metrics, and its own records."""

import datetime as dt

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from prober.lab.surfaces import cluster_facts, exposition, sglang_errors, sglang_info, sglang_metrics
from prober.lab.surfaces.context import SurfaceContext
from prober.lab.surfaces.shape import Refused


class Inspection:
    """Reading surfaces of one lab. As at SGLang, health and metrics need no key (utils/auth.py)."""

    def __init__(self, context: SurfaceContext) -> None:
        self._context = context
        self._started = int(dt.datetime.now(dt.UTC).timestamp())

    async def models(self, request: Request) -> Response:
        """List the model groups; `max_model_len` is the context, not the pool: that is the trap."""
        if self._is_refused(request):
            return _response(sglang_errors.unauthorised())
        lab = self._context.lab
        cards = [
            {
                "id": group.model,
                "object": "model",
                "created": self._started,
                "owned_by": "sglang",
                "root": group.model,
                "parent": None,
                "max_model_len": group.context_tokens,
            }
            for group in (lab, *lab.other_groups)
        ]
        return JSONResponse({"object": "list", "data": cards})

    async def server_info(self, request: Request) -> Response:
        """Sizes and flags; a disaggregated lab answers as its router does, with both roles side by side."""
        if self._is_refused(request):
            return _response(sglang_errors.unauthorised())
        return JSONResponse(sglang_info.server_info(self._context.lab, self._context.gateway.facts()))

    async def health(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's signature
        """Answer 200 with an empty body."""
        return Response(status_code=200)

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's signature
        """SGLang's series."""
        families = sglang_metrics.families(self._context.lab, self._context.gateway.facts())
        return PlainTextResponse(exposition.render(families), media_type=exposition.CONTENT_TYPE)

    async def records(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's signature
        """Per-request truth, oldest first, the clusters' and the gateway's counters; ids, counts and times only."""
        facts = self._context.gateway.facts()
        return JSONResponse(
            {
                "clock": "CLOCK_MONOTONIC",
                "records": self._context.records.facts(),
                "counters": cluster_facts.counters(facts),
                "gateway": cluster_facts.gateway_counters(facts),
            }
        )

    def _is_refused(self, request: Request) -> bool:
        return self._context.keys.tenant(request.headers.get("authorization")) is None


def _response(refused: Refused) -> Response:
    return Response(refused.body, status_code=refused.status, media_type=refused.content_type)
