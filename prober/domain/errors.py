"""Our own faults are exceptions; what the remote does never is.

ProberError
 +- ConfigError      the user's configuration, command line or environment
 +- KeyringError     the canary key file
 +- LedgerError      the database
 +- LabError         the shipped lab could not start or serve
"""


class ProberError(Exception):
    """Root of all our own faults. The message says what to change, and never holds a secret."""


class ConfigError(ProberError):
    """The configuration cannot be used."""


class KeyringError(ConfigError):
    """The canary key file is missing, unreadable or no key file."""


class LedgerError(ProberError):
    """The database cannot be used."""


class LabError(ProberError):
    """The lab cannot start or serve."""
