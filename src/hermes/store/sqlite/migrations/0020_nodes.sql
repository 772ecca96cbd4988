-- Leases belong to a node: a process that has joined. What a node works on is freed when it is buried.
CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    started_at REAL NOT NULL,
    expires REAL NOT NULL,
    buried_at REAL
) WITHOUT ROWID;
CREATE TABLE claims (
    name TEXT PRIMARY KEY,
    node TEXT,
    fence INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE feed (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL
);
ALTER TABLE lanes DROP COLUMN expires;
ALTER TABLE outbox ADD COLUMN owner TEXT;
ALTER TABLE approvals ADD COLUMN owner TEXT;
ALTER TABLE approvals ADD COLUMN answer INTEGER;
-- The process before had no node: the next one buries it under this name.
INSERT INTO nodes (id, started_at, expires) VALUES ('n_before', 0, 0);
UPDATE lanes SET owner = 'n_before' WHERE owner IS NOT NULL;
UPDATE outbox SET owner = 'n_before' WHERE state IN ('sending', 'preview');
UPDATE approvals SET owner = 'n_before' WHERE state = 'waiting';

-- The further messages of a delivery, one row each; the delivery counts them.
CREATE TABLE outbox_more (
    delivery TEXT NOT NULL,
    number INTEGER NOT NULL,
    platform_message_id TEXT,
    PRIMARY KEY (delivery, number)
) WITHOUT ROWID;
INSERT INTO outbox_more (delivery, number, platform_message_id)
SELECT outbox.id, shown.key + 1, shown.value FROM outbox, json_each(outbox.more) AS shown;
ALTER TABLE outbox DROP COLUMN more;
ALTER TABLE outbox ADD COLUMN more INTEGER NOT NULL DEFAULT 0;
UPDATE outbox SET more = (SELECT count(*) FROM outbox_more WHERE delivery = outbox.id)
WHERE id IN (SELECT delivery FROM outbox_more);
