"""Model services, one folder per wire dialect; each runs one call and knows no policy."""
