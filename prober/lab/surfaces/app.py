"""The lab's routes."""

from starlette.applications import Starlette
from starlette.routing import Route

from prober.lab.surfaces import openai, workers_ai
from prober.lab.surfaces.context import SurfaceContext
from prober.lab.surfaces.control import Control
from prober.lab.surfaces.generation import Generation
from prober.lab.surfaces.inspection import Inspection

ACCOUNT = "/client/v4/accounts/{account}/ai"


def build_app(context: SurfaceContext) -> Starlette:
    """Assemble all surfaces over one gateway."""
    inspection = Inspection(context)
    chat = Generation(context, openai.Chat(context.lab.model))
    completions = Generation(context, openai.Completions(context.lab.model))
    native = Generation(context, workers_ai.Native(context.lab, context.settings))
    compatible = Generation(context, workers_ai.Compatible(context.lab, context.settings))
    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/completions", completions, methods=["POST"]),
            Route(f"{ACCOUNT}/v1/chat/completions", compatible, methods=["POST"]),
            Route(f"{ACCOUNT}/run/{{model:path}}", native, methods=["POST"]),
            Route("/v1/models", inspection.models),
            Route("/server_info", inspection.server_info),
            Route("/get_server_info", inspection.server_info),
            Route("/health", inspection.health),
            Route("/metrics", inspection.metrics),
            Route("/lab/records", inspection.records),
            Route("/lab/rollout", Control(context).rollout, methods=["POST"]),
        ]
    )
