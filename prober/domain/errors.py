"""Our own faults are exceptions; what the remote does never is.

ProberError
 +- ConfigError      the user's configuration, command line or environment
 +- KeyringError     a key file: the canary key, the vault's
 +- LedgerError      the database
 |   +- LedgerGoneError  it cannot be used just now: waiting may help
 |   +- LeaseLostError   another replica holds the job now
 +- JobConflictError an idempotency key used for two different requests
 +- VaultError       the evidence vault cannot give back what it holds
 +- LabError         the shipped lab could not start or serve
"""


class ProberError(Exception):
    """Root of all our own faults. The message says what to change, and never holds a secret."""


class ConfigError(ProberError):
    """The configuration cannot be used."""


class KeyringError(ConfigError):
    """A key file (canary key or vault key) is missing, unreadable or no key file."""


class LedgerError(ProberError):
    """The database cannot be used."""


class LedgerGoneError(LedgerError):
    """The database is gone, full, locked or takes no writes: what passes by itself, or by somebody's hand elsewhere."""

    is_in_doubt = False
    """True where the commit was under way: what was written may stand all the same."""


class LeaseLostError(LedgerError):
    """The job was taken over or ended: who held it may write nothing about it any more."""


class JobConflictError(ProberError):
    """An idempotency key came again with another request."""


class VaultError(ProberError):
    """The evidence vault cannot give back what it holds: no key for it, or not what was stored."""


class LabError(ProberError):
    """The lab cannot start or serve."""
