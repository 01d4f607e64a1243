"""The configuration file: schema, loading, secrets, the canary key file."""
