-- The session that the adapter of an agent has for a conversation, as JSON.
ALTER TABLE lanes ADD COLUMN adapter TEXT;
