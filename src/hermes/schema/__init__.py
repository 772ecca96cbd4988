"""JSON Schema: checks schemas and values; pure, and the only user of the validator."""
