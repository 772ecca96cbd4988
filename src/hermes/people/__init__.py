"""People: who they are and what they may spend."""
