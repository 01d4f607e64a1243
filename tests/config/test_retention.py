"""The section `retention`."""

from prober.config.retention import RetentionSettings, retention_objections


def test_the_defaults_are_in_order():
    """Findings are kept longest, foreign text shortest."""
    defaults = RetentionSettings()

    assert list(retention_objections(defaults)) == []
    assert defaults.vault_days < defaults.observation_days < defaults.run_days < defaults.finding_days


def test_what_explains_must_outlive_what_it_explains():
    """Each pair out of order is named by the key to change."""
    wrong = RetentionSettings(observation_days=9, run_days=8, finding_days=7, vault_days=30)

    assert [place for place, _ in retention_objections(wrong)] == [("run_days",), ("finding_days",), ("finding_days",)]
