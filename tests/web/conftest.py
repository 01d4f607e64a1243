"""The same workplace as the system's tests."""

from tests.system.conftest import place

__all__ = ["place"]
