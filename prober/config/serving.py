"""The configuration's section `api`: where the service listens, and how much it takes."""

from typing import Annotated

from pydantic import AfterValidator, Field

from prober.config import rules
from prober.config.section import Section

PerMinute = Annotated[int, Field(ge=1, le=1_000_000)]


class ApiSettings(Section):
    """The HTTP API of `prober serve`."""

    host: Annotated[str, AfterValidator(rules.host)] = "127.0.0.1"
    """Address to listen on; other than loopback only with a token in the database."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8787
    """Port to listen on; 0 takes any free one."""
    requests_per_minute: PerMinute = 600
    """Requests of one token."""
    failed_logins_per_minute: PerMinute = 20
    """Wrong tokens from one address."""
    max_body_bytes: Annotated[int, Field(ge=1_024, le=16 * 1024 * 1024)] = 65_536
    """Largest request body."""
    metrics_public: bool = True
    """`/metrics` needs no token."""
    pages: bool = True
    """Pages for people under `/ui/`."""
    pages_over_tls: bool = False
    """People reach the pages by HTTPS, through a proxy: cookies are then sent over it alone."""
