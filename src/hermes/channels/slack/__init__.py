"""Slack: Socket Mode or the Events API in, the Web API out, without its SDK."""
