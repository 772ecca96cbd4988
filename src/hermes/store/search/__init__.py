"""Full-text search: a rebuildable, encrypted index beside the database."""
