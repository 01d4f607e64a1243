"""The ledger in a database: SQLite in one file by default, PostgreSQL from the same code. SQLAlchemy stays in here."""
