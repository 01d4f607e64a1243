"""Problems with their places."""

from prober.config.problems import InvalidConfigError, Mark, Problem, dotted
from prober.domain.errors import ConfigError


def test_paths_are_dotted():
    """Keys are joined by dots, indices stand in brackets."""
    assert dotted(("targets", "glm", "tenants", 0, "name")) == "targets.glm.tenants[0].name"
    assert dotted(()) == ""


def test_problems_come_in_the_files_order():
    """Whatever found them first, the reader goes through the file once."""
    later = Problem(mark=Mark(line=12, column=3), location=("a", 1), message="late")
    sooner = Problem(mark=Mark(line=2, column=9), location=(), message="early")
    error = InvalidConfigError("prober.yaml", [later, sooner])
    assert isinstance(error, ConfigError)
    assert str(error) == "prober.yaml:2:9: early\nprober.yaml:12:3: a[1]: late"
