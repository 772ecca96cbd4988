"""A message becomes ours, once; this ends at the row on disk."""
