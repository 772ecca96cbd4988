"""One folder per platform, all with the same structure; no channel knows another."""
