-- The messages on its platform, beyond the first, that show a reply while it is written; null where
-- one may stand whose id is not known. `fresh` is set once the reply is sent anew in their place.
ALTER TABLE outbox ADD COLUMN more TEXT NOT NULL DEFAULT '[]';
ALTER TABLE outbox ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;
