"""The service's self-test, and how what it leaves is told from everybody else's."""

SELF_TEST = "self-test"
"""Reserved: no target of a configuration may be called so."""

PREFIX = f"{SELF_TEST}/"
"""Begins the names of all self-tests. No name that a configuration gives can hold a slash."""


def self_test_name(number: str) -> str:
    """Name one self-test: its target and its receiver, as they stand in the database.

    Args:
        number: tells it from those of other replicas.
    """
    return PREFIX + number


def is_self_test(name: str) -> bool:
    """Tell whether a target or receiver is that of a self-test."""
    return name.startswith(PREFIX)
