"""Chat commands: what each of them does, beside the lane or in it."""
