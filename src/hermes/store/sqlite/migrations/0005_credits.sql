-- Wallets: what each person has left, kept beside the ledger. Their referral codes are made in the
-- same transaction (wallet.py).

CREATE TABLE wallets (
    person_id TEXT PRIMARY KEY,
    balance INTEGER NOT NULL,
    is_limited INTEGER NOT NULL DEFAULT 0,
    code TEXT,
    referred_by TEXT,
    referred INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE UNIQUE INDEX wallets_code ON wallets (code);
INSERT INTO wallets (person_id, balance)
SELECT id, coalesce((SELECT sum(amount) FROM ledger WHERE person_id = people.id), 0)
    - coalesce((SELECT sum(amount) FROM holds WHERE person_id = people.id), 0)
FROM people;

ALTER TABLE ledger ADD COLUMN note INTEGER;
