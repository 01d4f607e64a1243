"""The gateway in front of one or more clusters: routing, connections, response cache, delivery of replies."""
