"""A2A, the Agent2Agent protocol: other agents call the agents of this gateway."""
