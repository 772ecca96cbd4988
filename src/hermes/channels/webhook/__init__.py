"""Generic webhooks: machines tell of events, signed, and get their answers posted back."""
