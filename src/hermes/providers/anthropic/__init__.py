"""The Anthropic Messages wire, by API key or by OAuth token."""
