"""A machine that posts signed events and accepts signed answers, as Standard Webhooks define."""
