"""Settings -> live objects: the only place that constructs adapters."""
