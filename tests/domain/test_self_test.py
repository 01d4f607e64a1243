"""Names of self-tests."""

from prober.config.rules import is_name
from prober.domain.self_test import SELF_TEST, is_self_test, self_test_name


def test_no_configuration_can_name_a_target_like_a_self_test():
    """A self-test is told by its name alone, so that nobody else's may begin like it."""
    name = self_test_name("0a1b2c3d")

    assert is_self_test(name)
    assert not is_name(name)
    assert not is_self_test(SELF_TEST)
    assert not is_self_test("self-test-2")
