"""Attributable text: codec and keys, composing prompts of an exact token count, reading answers without keeping a word.

Pure and synchronous. Randomness comes in as the canary's serial, secrets as a keyring.
"""
