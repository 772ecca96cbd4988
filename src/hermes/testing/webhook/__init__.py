"""A machine that posts signed events and takes signed answers, as Standard Webhooks say."""
