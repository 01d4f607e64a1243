"""Prefix cache of a pool: pages of finished prompts, kept on the device, in a host tier and in a disk tier."""
