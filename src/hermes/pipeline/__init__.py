"""From lease to commit: lanes, the turn's stages, its steps, and going on after a crash."""
