"""Chooses the model for a call: pure policy over what providers say they can do."""
