"""Skills: folders with instructions that agents and people use by name."""
