"""What several verbs share."""

from prober.cli.exits import Exit
from tests.support.command import Workplace, invoke


def test_a_missing_variable_is_named_and_no_value_is_shown(place: Workplace):
    """The usual first mistake is told by the variable's name."""
    place.configure("http://127.0.0.1:9/v1")
    finished = invoke("validate", "--config", str(place.config), environment={"ALPHA_KEY": "sk-only-alpha"})

    assert finished.code == Exit.USAGE
    assert "BRAVO_KEY" in finished.stderr
    assert "sk-only-alpha" not in finished.said


def test_a_lost_key_file_is_2_and_says_what_to_do(place: Workplace):
    """Without the key no canary can be made: configuration, not a fault of ours."""
    place.configure("http://127.0.0.1:9/v1")
    (place.folder / "canary.key").unlink()

    for verb in ("validate", "run"):
        finished = place.invoke(verb)
        assert finished.code == Exit.USAGE
        assert "canary.key" in finished.stderr
