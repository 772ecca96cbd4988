"""Memory: what an agent knows before it reads the message."""
