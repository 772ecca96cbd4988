"""Encrypted rooms of Matrix: this device's keys, those of others, and the ratchets of Olm and Megolm."""
