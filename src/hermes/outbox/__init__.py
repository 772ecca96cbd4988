"""A reply leaves: chunking, previews, retry, breaker, unknown and dead letters.

Between the commit, which writes the outbox rows, and the channel, which makes the wire calls. It
knows rows and channels through their ports and nothing of turns, models or people.
"""
