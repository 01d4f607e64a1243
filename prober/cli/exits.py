"""Exit codes as verbs use them; `prober.domain.exits` settles them for reports too."""

from prober.domain.exits import Exit, FailOn, settle

__all__ = ["Exit", "FailOn", "settle"]
