"""The HTTP API under `/api/v1`, health, readiness and metrics. Documented in docs/api.md."""
