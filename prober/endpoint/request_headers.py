"""Headers of one request: the operator's, the prober's own, and what the probe asks for by header."""

from prober.domain.options import RequestOptions
from prober.endpoint.settings import REQUEST_ID_HEADER, ConnectionSettings, check_header


def request_headers(
    settings: ConnectionSettings, options: RequestOptions, *, secret: str, request_id: str, stream: bool
) -> dict[str, str]:
    """Write them.

    Args:
        settings: names of headers, and the operator's own.
        options: an affinity key wins over an operator's header of that name.
        secret: the tenant's credential; empty sends no credential header.
        request_id: value of X-Request-Id.
        stream: whether a stream is asked for.

    Raises:
        ConfigError: request id or affinity key cannot be sent; it names the header only.
    """
    headers = {
        **settings.extra_headers,
        "Accept": "text/event-stream" if stream else "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": settings.user_agent,
        REQUEST_ID_HEADER: request_id,
    }
    check_header(REQUEST_ID_HEADER, request_id)
    if secret:
        headers[settings.credential_header] = f"{settings.credential_scheme} {secret}".strip()
    if options.session is not None:
        check_header(settings.session_header, options.session)
        headers = {name: value for name, value in headers.items() if name.lower() != settings.session_header.lower()}
        headers[settings.session_header] = options.session
    return headers
