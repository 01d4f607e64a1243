"""What tables are made of: names, dates, codes, JSON, keys."""

import datetime as dt
import enum

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from prober.domain.errors import LedgerError

NAME_LENGTH = 200
"""Names, labels, ids: ours and (bounded before they are stored) the remote's."""

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(sa.types.TypeDecorator[dt.datetime]):
    """An aware UTC date. SQLite forgets time zones, so they are taken off and put back here."""

    impl = sa.DateTime(timezone=True)  # type: ignore[mutable-override]  # SQLAlchemy's documented way
    cache_ok = True  # type: ignore[mutable-override]  # likewise

    def process_bind_param(self, value: dt.datetime | None, dialect: sa.Dialect) -> dt.datetime | None:
        """Refuse naive dates: nobody could tell what they mean."""
        del dialect
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a date without a time zone cannot be stored")
        return value.astimezone(dt.UTC)

    def process_result_value(self, value: dt.datetime | None, dialect: sa.Dialect) -> dt.datetime | None:
        """Give every date its zone back."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""SQLite counts up only a column of type INTEGER."""


CODE_LENGTH = 40


class Code(sa.types.TypeDecorator[enum.Enum]):
    """An enum by its value, as plain text: a new member needs no migration."""

    impl = sa.String(CODE_LENGTH)  # type: ignore[mutable-override]  # SQLAlchemy's documented way
    cache_ok = True  # type: ignore[mutable-override]  # likewise

    def __init__(self, kind: type[enum.Enum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: enum.Enum | None, dialect: sa.Dialect) -> str | None:
        """Store the value."""
        del dialect
        return None if value is None else str(value.value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> enum.Enum | None:
        """Give the member back; a value that only a newer version knows is a LedgerError."""
        del dialect
        try:
            return None if value is None else self.kind(value)
        except ValueError:
            raise LedgerError("The ledger holds rows of a newer version of the prober; upgrade this one.") from None


def id_column() -> sa.Column[int]:
    """Counted up by the database."""
    return sa.Column("id", ID, primary_key=True, autoincrement=True)


def refers(name: str, to: str, *, nullable: bool = False, primary_key: bool = False) -> sa.Column[int]:
    """Point at a parent row, and go with it."""
    key = sa.ForeignKey(to, ondelete="CASCADE")
    if primary_key:
        return sa.Column(name, ID, key, primary_key=True, autoincrement=False)
    return sa.Column(name, ID, key, nullable=nullable, index=True)
