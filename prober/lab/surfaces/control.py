"""What whoever runs the lab does to it, beside asking: no inference server has these routes."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from prober.lab.loopback import is_loopback
from prober.lab.surfaces.context import SurfaceContext


class Control:
    """Control routes of one lab; open to this machine alone, also where the lab serves others."""

    def __init__(self, context: SurfaceContext) -> None:
        self._context = context

    async def rollout(self, request: Request) -> Response:
        """Restart all clusters, one after the other, and say how many; answers in flight may break off."""
        if request.client is None or not is_loopback(request.client.host):
            return JSONResponse({"error": "Forbidden"}, status_code=403)
        return JSONResponse({"restarted": await self._context.gateway.restart()})
