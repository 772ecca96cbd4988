-- name: add
-- The wallet of a new person.
INSERT INTO wallets (person_id, balance, code) VALUES (?1, 0, ?2);

-- name: code_is_taken
-- Whether a referral code belongs to somebody.
SELECT 1 FROM wallets WHERE code = ?1;

-- name: without_code
-- Everybody who has no referral code and was not erased.
SELECT person_id FROM wallets
WHERE code IS NULL AND person_id IN (SELECT person_id FROM person_keys);

-- name: set_code
-- A person's referral code.
UPDATE wallets SET code = ?2 WHERE person_id = ?1;

-- name: hold
-- Set credits aside, once per message.
INSERT INTO holds (message_id, person_id, amount, at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (message_id) DO NOTHING;

-- name: end_hold
-- The hold of a message ends with its turn.
DELETE FROM holds WHERE message_id = ?1 RETURNING person_id, amount;

-- name: take
-- A hold that nothing limits; from now on the balance may be less than nothing.
UPDATE wallets SET balance = balance - ?2, is_limited = 0 WHERE person_id = ?1;

-- name: take_limited
-- A hold that an open wallet can pay for.
UPDATE wallets SET balance = balance - ?2
WHERE person_id = ?1 AND is_limited = 1 AND balance >= ?2;

-- name: open
-- The balance is a limit from now on.
UPDATE wallets SET is_limited = 1 WHERE person_id = ?1 AND is_limited = 0;

-- name: is_limited
-- Whether the balance is a limit.
SELECT 1 FROM wallets WHERE person_id = ?1 AND is_limited = 1;

-- name: give
-- Credits that come back, or come.
UPDATE wallets SET balance = balance + ?2 WHERE person_id = ?1;

-- name: balance
-- What a person has left.
SELECT balance FROM wallets WHERE person_id = ?1;

-- name: heir
-- Who has the channels of a person by now who has none left, if that is one.
SELECT max(person_id) FROM user_channels
WHERE was_person = ?1 AND NOT EXISTS (SELECT 1 FROM user_channels AS own WHERE own.person_id = ?1)
HAVING count(DISTINCT person_id) = 1;

-- name: get
-- A person's wallet, and what is held of it.
SELECT person_id, balance,
    (SELECT coalesce(sum(amount), 0) FROM holds WHERE holds.person_id = wallets.person_id),
    is_limited,
    EXISTS (SELECT 1 FROM ledger WHERE message_id = 'start:' || ?1 AND kind = 'grant'), code, referred_by, referred
FROM wallets WHERE person_id = ?1;

-- name: owner
-- Whose referral code it is.
SELECT person_id FROM wallets WHERE code = ?1;

-- name: forget_code
-- The code of somebody who was erased leads to nobody.
UPDATE wallets SET code = NULL WHERE person_id = ?1;

-- name: book
-- One line of the ledger; a message has one of each kind at most, a grant its own id.
INSERT INTO ledger (person_id, kind, amount, message_id, at, note)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (message_id, kind) DO NOTHING;

-- name: line
-- One line of the ledger.
SELECT person_id, message_id, kind, amount, at, note FROM ledger
WHERE message_id = ?1 AND kind = ?2;

-- name: lines
-- The newest lines of a person's ledger.
SELECT person_id, message_id, kind, amount, at, note FROM ledger
WHERE person_id = ?1 ORDER BY id DESC LIMIT ?2;

-- name: refer
-- A person brings another's code, once.
UPDATE wallets SET referred_by = ?2 WHERE person_id = ?1 AND referred_by IS NULL;

-- name: count_referred
-- One more newcomer has brought a person's code.
UPDATE wallets SET referred = referred + 1 WHERE person_id = ?1 RETURNING referred;

-- name: poorest
-- The wallets with the least in them, and the users they belong to.
WITH few AS (
    SELECT person_id, balance, is_limited, code, referred_by, referred FROM wallets
    WHERE balance < coalesce(?1, balance + 1) ORDER BY balance, person_id LIMIT ?2
)
SELECT few.person_id, balance,
    (SELECT coalesce(sum(amount), 0) FROM holds WHERE holds.person_id = few.person_id),
    is_limited,
    EXISTS (SELECT 1 FROM ledger WHERE message_id = 'start:' || few.person_id AND kind = 'grant'), code, referred_by, referred, platform || ':' || user_id
FROM few LEFT JOIN user_channels ON user_channels.person_id = few.person_id
ORDER BY balance, few.person_id, platform, user_id;

-- name: totals
-- How much there is to audit, and what all balances come to.
SELECT (SELECT count(*) FROM wallets), (SELECT count(*) FROM ledger), (SELECT count(*) FROM holds),
    (SELECT coalesce(sum(balance), 0) FROM wallets);

-- name: audit_balances
-- Balances that are not the ledger's sum minus open holds.
WITH sums AS (
    SELECT person_id, sum(amount) AS due FROM (
        SELECT person_id, amount FROM ledger UNION ALL SELECT person_id, -amount FROM holds
    ) GROUP BY person_id
)
SELECT wallets.person_id, coalesce(due, 0), balance
FROM wallets LEFT JOIN sums ON sums.person_id = wallets.person_id
WHERE balance <> coalesce(due, 0)
UNION ALL
SELECT person_id, due, NULL FROM sums WHERE person_id NOT IN (SELECT person_id FROM wallets);

-- name: audit_people
-- People without a wallet, or with one that nobody has.
SELECT id, 1, 0 FROM people WHERE id NOT IN (SELECT person_id FROM wallets)
UNION ALL
SELECT person_id, 0, 1 FROM wallets WHERE person_id NOT IN (SELECT id FROM people);

-- name: audit_captures
-- Captures of no message, or of somebody else's; a message that was forgotten has left its interaction.
SELECT message_id, 1, 0 FROM ledger
WHERE kind = 'capture'
    AND NOT EXISTS (
        SELECT 1 FROM inbox WHERE inbox.id = message_id AND inbox.person_id = ledger.person_id
    )
    AND NOT EXISTS (
        SELECT 1 FROM interactions
        WHERE interactions.message_id = ledger.message_id
            AND interactions.person_id = ledger.person_id
    );

-- name: audit_repeated
-- Messages that were captured or refunded twice, and grants that were given twice.
SELECT kind || ' ' || message_id, 1, count(*) FROM ledger
GROUP BY message_id, kind HAVING count(*) > 1;

-- name: audit_refunds
-- Refunds of what was not captured from the same person.
SELECT refund.message_id, coalesce(-capture.amount, 0), refund.amount
FROM ledger AS refund
LEFT JOIN ledger AS capture
    ON capture.message_id = refund.message_id AND capture.kind = 'capture'
    AND capture.person_id = refund.person_id
WHERE refund.kind = 'refund' AND refund.amount <> coalesce(-capture.amount, 0);

-- name: audit_holds
-- Holds of no message that is open, or of one that was captured.
SELECT message_id, 0, amount FROM holds
WHERE NOT EXISTS (
        SELECT 1 FROM inbox
        WHERE inbox.id = message_id AND inbox.person_id = holds.person_id AND state <> 'done'
    )
    OR EXISTS (
        SELECT 1 FROM ledger
        WHERE ledger.message_id = holds.message_id AND ledger.kind = 'capture'
    );

-- name: audit_signs
-- Lines that give where they should take, or the other way round.
SELECT kind || ' ' || message_id, NULL, amount FROM ledger
WHERE NOT CASE kind
    WHEN 'capture' THEN amount <= 0 WHEN 'refund' THEN amount >= 0 ELSE kind = 'grant'
END;
