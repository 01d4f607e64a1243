"""Column types, and what must never have a column."""

import datetime as dt

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from prober.domain.errors import LedgerError
from prober.domain.finding import Reason
from prober.domain.observation import Observation
from prober.store.schema import metadata
from prober.store.schema.columns import CODE_LENGTH, Code, UtcDateTime

DIALECT = sqlite.dialect()
BERLIN = dt.timezone(dt.timedelta(hours=2))


def test_dates_come_back_aware_whatever_the_database_forgets():
    """A stored date is UTC; one read back has its zone."""
    kind = UtcDateTime()
    noon = dt.datetime(2026, 9, 1, 12, tzinfo=BERLIN)
    stored = kind.process_bind_param(noon, DIALECT)
    assert stored.utcoffset() == dt.timedelta(0)
    assert kind.process_result_value(stored.replace(tzinfo=None), DIALECT) == noon
    assert kind.process_result_value(noon, DIALECT).tzinfo is dt.UTC
    assert kind.process_bind_param(None, DIALECT) is None
    assert kind.process_result_value(None, DIALECT) is None


def test_naive_dates_are_refused():
    """Nobody can tell what a date without a zone means."""
    with pytest.raises(ValueError, match="time zone"):
        UtcDateTime().process_bind_param(dt.datetime(2026, 9, 1), DIALECT)  # noqa: DTZ001 - that is the point


def test_codes_of_a_newer_version_are_told():
    """A row that this version cannot read says why."""
    kind = Code(Reason)
    assert kind.process_result_value(Reason.HANG.value, DIALECT) is Reason.HANG
    assert kind.process_result_value(None, DIALECT) is None
    assert kind.process_bind_param(None, DIALECT) is None
    with pytest.raises(LedgerError, match="newer version"):
        kind.process_result_value("reason_of_2031", DIALECT)


def test_every_code_fits_its_column():
    """No enum stored has a value longer than its column."""
    kinds = [
        column.type.kind for table in metadata.tables.values() for column in table.c if isinstance(column.type, Code)
    ]
    assert len(kinds) > 10
    assert max(len(member.value) for kind in kinds for member in kind) <= CODE_LENGTH


def test_no_column_can_hold_an_answer():
    """Free text has one column, and that is our own message."""
    texts = [f"{t.name}.{c.name}" for t in metadata.tables.values() for c in t.c if isinstance(c.type, sa.Text)]
    assert texts == ["findings.message"]
    assert {"text", "reasoning", "content"} <= {*Observation.__dataclass_fields__, "content"}
    assert {"text", "reasoning", "content"}.isdisjoint(metadata.tables["observations"].c.keys())
