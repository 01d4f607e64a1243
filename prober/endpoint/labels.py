"""What a peer calls things: kept where it can only be a name, else known by its hash.

Ids, names of LLMs, finish reasons and header values come from the same memory as answers. Where they hold a sentence,
it may be a customer's; where they hold a credential, it is ours.
"""

import hashlib
import re
from collections.abc import Iterable

MAX_CHARACTERS = 200

_LABEL = re.compile(r"[A-Za-z0-9_.:/@+-]+")
_CREDENTIAL = re.compile(
    r"://[^/]*@"
    r"|(?<![A-Za-z0-9])(?:sk|pk|rk|ghp|gho|ghs|glpat|hf|xox[abprs]|iprb)[-_][A-Za-z0-9_-]{8,}"
    r"|(?<![A-Za-z0-9])AKIA[A-Z0-9]{12,}"
    r"|(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{10,}\."
)
"""User and password in an address, keys by their vendors' prefixes, JSON web tokens: gateways name their backends."""

_LEAST_SECRET = 8
"""Shorter credentials would turn ordinary names into hashes."""


def label(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return an identifier as it is; what is no name, or may be somebody's credential, becomes `sha256:`, 16 digits."""
    is_name = len(text) <= limit and _LABEL.fullmatch(text) and not _CREDENTIAL.search(text)
    return text if is_name else digest(text)


def digest(text: str) -> str:
    """Tell equal texts from different ones without telling the text."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


class Blinds:
    """Hides our own secrets in what a peer sends back: it knows those we sent it. Never shows them itself."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple({secret.casefold() for secret in secrets if len(secret) >= _LEAST_SECRET})

    def __repr__(self) -> str:
        """Count only."""
        return f"Blinds({len(self._secrets)} secrets)"

    def over(self, text: str) -> str:
        """Return the text, or its hash where it holds a secret in any case."""
        folded = text.casefold()
        return digest(text) if any(secret in folded for secret in self._secrets) else text

    def over_any(self, text: str | None) -> str | None:
        """Likewise; nothing stays nothing."""
        return None if text is None else self.over(text)
