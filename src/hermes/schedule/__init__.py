"""Work that time starts: upkeep of the journal."""
