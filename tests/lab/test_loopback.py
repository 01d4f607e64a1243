"""Who is on this machine."""

import pytest

from prober.lab.loopback import is_loopback


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("lab.example", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, *, expected: bool):
    """Only addresses that cannot be reached from elsewhere count; of other names nothing is known."""
    assert is_loopback(host) is expected
