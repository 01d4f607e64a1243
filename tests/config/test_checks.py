"""Rules that span several values."""

from pathlib import Path

import pytest

from prober.config import checks
from prober.config.schema import TargetSettings, TenantSettings
from prober.config.secret import Secret


def tenant(name: str, number: int | None = None, credential: str = "") -> TenantSettings:
    return TenantSettings(name=name, number=number, credential=Secret(credential or f"key-of-{name}"))


def target(*tenants: TenantSettings) -> TargetSettings:
    return TargetSettings(url="https://a", dialect="d", model="m", context_tokens=8192, tenants=tenants)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([("alpha", None), ("bravo", None)], [1, 2]),
        ([("alpha", 1), ("bravo", None)], [1, 2]),
        ([("alpha", None), ("bravo", 1)], [2, 1]),
        ([("alpha", 0), ("bravo", None)], [0, 1]),
        ([("alpha", 2047), ("bravo", 2), ("charlie", None), ("delta", None)], [2047, 2, 1, 3]),
    ],
)
def test_free_numbers_go_to_names_in_order(listed: list[tuple[str, int | None]], expected: list[int]):
    """Numbers given by hand stay, the lowest free ones fill in, none is given twice."""
    numbered = checks.number_tenants({"t": target(*(tenant(name, number) for name, number in listed))})
    assert [each.number for each in numbered["t"].tenants] == expected


def test_adding_at_the_end_changes_no_number():
    """Canaries of earlier runs stay attributable when a target or tenant is added."""
    first = target(tenant("alpha"), tenant("bravo"))
    before = checks.number_tenants({"one": first})
    after = checks.number_tenants({"one": first, "two": target(tenant("charlie"), tenant("alpha"))})
    assert after["one"] == before["one"]
    assert [each.number for each in after["two"].tenants] == [3, 1]


def test_each_repeated_tenant_is_objected_to():
    """The second and the third of three equal ones are both named."""
    tenants = {index: tenant("alpha", credential="same") for index in range(3)}
    places = {place for place, _ in checks.tenants_objections(tenants, listed=3)}
    assert places == {(1, "name"), (2, "name"), (1, "credential"), (2, "credential")}


def test_unsound_tenants_count_as_listed():
    """Two tenants, one of them broken, are not one too few: its own fault is enough to say."""
    assert list(checks.tenants_objections({0: tenant("alpha")}, listed=2)) == []


def test_sound_target_has_no_objection(tmp_path: Path):
    """Files that exist, whole pages and sensible times pass."""
    (tmp_path / "ca.pem").write_text("x")
    sound = target(tenant("alpha"), tenant("bravo")).model_copy(
        update={"ca_file": Path("ca.pem"), "prefill_pool_tokens": 640, "scenarios": ("one", "two")}
    )
    assert list(checks.target_objections(sound, tmp_path)) == []
