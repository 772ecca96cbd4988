"""Work that time starts: scheduled jobs, upkeep, learning, dreams, pruning."""
