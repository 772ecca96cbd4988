"""Sends replies: chunks, previews, retries, circuit breaker, unknown deliveries and dead letters.

It sits between the commit, which writes the outbox rows, and the channel, which makes the platform
calls. It knows rows and channels through their ports, and nothing about turns, models or people.
"""
