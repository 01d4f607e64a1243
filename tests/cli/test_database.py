"""Preparing the database."""

from prober.cli.exits import Exit
from tests.support.command import Workplace


def test_a_database_without_schema_is_2_until_it_is_upgraded(place: Workplace):
    """The message names the verb that helps, and the verb helps, twice as well as once."""
    place.configure("http://127.0.0.1:9/v1")
    for path in place.folder.glob("prober.db*"):
        path.unlink()

    for arguments in (("run",), ("findings", "list")):
        finished = place.invoke(*arguments)
        assert finished.code == Exit.USAGE
        assert "prober db upgrade" in finished.stderr
    assert place.invoke("db", "upgrade").code == 0
    assert place.invoke("db", "upgrade").code == 0
    assert place.invoke("findings", "list").code == 0
