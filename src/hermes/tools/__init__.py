"""Tools: which a model may see, and how they are run."""
