"""Keeping secrets out of everything that is written: registered ones in every spelling, and what looks like one."""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator

REDACTED = "[redacted]"
_MAX_TEXT = 1_000
_MAX_SCANNED = 65_536
_MIN_FRAGMENT = 8
"""Shorter pieces of a base64 text would match ordinary words."""

_SECRET_KEY = re.compile(
    r"authori[sz]ation|credential|passw(?:or)?d|passphrase|secret|cookie|private|bearer|(?:^|[_-])(?:token|key)$|api[_-]?key",
    re.IGNORECASE,
)
"""Names of fields whose value is never shown. `prompt_tokens` is a count and is shown."""

_LOOKS_SECRET = (
    (re.compile(r"\b(bearer)\s+[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE), rf"\1 {REDACTED}"),
    (re.compile(r"\b(Basic)\s+[A-Za-z0-9+/_-]{8,}={0,2}"), rf"\1 {REDACTED}"),
    (re.compile(r"\b(?:sk|pk|rk|hf|ghp|gho|iprb|xox[abp])[-_][A-Za-z0-9_-]{12,}"), REDACTED),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), REDACTED),
    (re.compile(r"(://)[^/\s@]+@"), rf"\1{REDACTED}@"),
    (
        re.compile(r"\b(api[_-]?key|access[_-]?token|password|secret|token(?==))(\s*[=:]\s*)[^\s&,;]+", re.IGNORECASE),
        rf"\1\2{REDACTED}",
    ),
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Redactor:
    """Removes secrets from text. Secrets are registered once, at start; `redact` is then safe from any thread."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._spellings: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        for secret in secrets:
            self.register(secret)

    def __repr__(self) -> str:
        """Count only: a debugger's view must not show a secret."""
        return f"Redactor({len(self._spellings)} spellings)"

    def register(self, secret: str) -> None:
        """Remove this secret from now on, in any case and encoding. An empty one is ignored."""
        if not secret:
            return
        self._spellings.update(spelling for spelling in _spellings(secret) if spelling)
        # Longest first, so that no shorter spelling leaves the rest of a longer one behind.
        longest_first = sorted(self._spellings, key=lambda spelling: (-len(spelling), spelling))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def redact(self, text: str) -> str:
        """Remove secrets and control characters, then bound to 1,000 characters."""
        shown = text[:_MAX_SCANNED]
        if self._pattern is not None:
            shown = self._pattern.sub(REDACTED, shown)
        for pattern, replacement in _LOOKS_SECRET:
            shown = pattern.sub(replacement, shown)
        shown = _CONTROL.sub(_escaped, shown)
        dropped = len(shown) - _MAX_TEXT + len(text) - len(text[:_MAX_SCANNED])
        return shown if dropped <= 0 else f"{shown[:_MAX_TEXT]}... (+{dropped} characters)"

    @staticmethod
    def hides(key: str) -> bool:
        """A field of this name never shows its value."""
        return _SECRET_KEY.search(key) is not None


def _spellings(secret: str) -> Iterator[str]:
    """The secret as it may turn up: itself, escaped, quoted, in hexadecimal, inside base64 at any alignment."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield secret.strip()
    yield raw.hex()
    yield repr(secret)[1:-1]
    yield urllib.parse.quote(raw)
    yield urllib.parse.quote(raw, safe="")
    yield urllib.parse.quote_plus(raw)
    for is_ascii in (True, False):
        escaped = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        yield escaped
        yield json.dumps(escaped, ensure_ascii=is_ascii)[1:-1]
    for offset in range(3):
        # Only characters that depend on no neighbouring byte stand in every base64 text that holds the secret.
        start, end = (offset * 8 + 5) // 6, (offset + len(raw)) * 8 // 6
        standard = base64.b64encode(b"\0" * offset + raw).decode()[start:end]
        if len(standard) >= _MIN_FRAGMENT:
            yield standard
            yield standard.replace("+", "-").replace("/", "_")


def _escaped(match: re.Match[str]) -> str:
    """Show control characters as escapes: they could forge log lines or drive a terminal."""
    return match[0].encode("unicode_escape").decode()
