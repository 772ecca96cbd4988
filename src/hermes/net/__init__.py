"""The wire in both directions: the one outbound client with its guard, and what HTTP doors share."""
