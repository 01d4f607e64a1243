"""Evidence -> findings: what an answer was, what each axis says, how axes join, how a run folds. Pure."""
