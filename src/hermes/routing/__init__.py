"""Which model serves a call: pure policy over what providers say they can do."""
