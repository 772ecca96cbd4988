"""Calls to others: the one HTTP client, and the guard on addresses that strangers choose."""
