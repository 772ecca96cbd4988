-- The answers that are shown as buttons under a message that asks: who may press them, what each of them
-- says (sealed), until when, and what was pressed. `shown` is 1 once the message shows how it ended.
CREATE TABLE offers (
    id TEXT PRIMARY KEY,
    delivery TEXT NOT NULL,
    message_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    lane TEXT NOT NULL,
    who TEXT NOT NULL,
    subject TEXT,
    body INTEGER NOT NULL,
    expires_at REAL NOT NULL,
    chosen INTEGER,
    chosen_by TEXT,
    shown INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX offers_message ON offers (message_id);
CREATE INDEX offers_open ON offers (platform) WHERE shown = 0;

-- After how many seconds a notice is taken back; 0 once it was, and for what stays.
ALTER TABLE outbox ADD COLUMN vanish_s REAL NOT NULL DEFAULT 0;
CREATE INDEX outbox_vanishing ON outbox (platform, ended_at) WHERE vanish_s > 0;
CREATE INDEX outbox_posted ON outbox (platform_message_id) WHERE platform_message_id IS NOT NULL;

-- The platform's ids of the further messages of a delivery that has more than one.
CREATE TABLE outbox_parts (
    platform_message_id TEXT NOT NULL,
    delivery TEXT NOT NULL,
    PRIMARY KEY (platform_message_id, delivery)
) WITHOUT ROWID;
CREATE INDEX outbox_parts_delivery ON outbox_parts (delivery);
