"""Tells people and other systems: signed webhooks, chat, pagers, Alertmanager."""
