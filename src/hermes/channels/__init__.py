"""One folder per platform, all of one shape; no channel knows another."""
