-- A keyed hash of what a sender signed, if the signature does not cover the id of the message: signed
-- content counts once, under any id. Messages that were accepted before have none.
ALTER TABLE inbox ADD COLUMN content_key TEXT;
CREATE UNIQUE INDEX inbox_content ON inbox (account, platform, route, content_key)
    WHERE content_key IS NOT NULL;
