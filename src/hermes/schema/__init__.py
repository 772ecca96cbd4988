"""JSON schemas and the values that must fit them; pure, and the only user of the validator."""
