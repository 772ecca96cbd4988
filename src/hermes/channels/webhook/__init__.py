"""Generic webhooks: machines send signed events and get the answers posted back."""
