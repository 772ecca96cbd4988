"""Accepts each message once; its work ends when the row is on disk."""
