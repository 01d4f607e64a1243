"""Attributable text: its codec and keys, composing prompts of an exact token count, and reading answers without keeping
a word of them.

Pure and synchronous. Randomness comes in as the canary's serial, secrets as a keyring.
"""
