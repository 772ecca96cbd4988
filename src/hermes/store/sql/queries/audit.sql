-- name: add
-- An order, before it is carried out or as it was refused.
INSERT INTO audit (id, at, actor, role, action, targets, state, code, ended_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: finish
-- What came of an order.
UPDATE audit SET state = ?2, code = ?3, targets = ?4, ended_at = ?5
WHERE id = ?1 AND state = 'started';

-- name: forget_old
-- Orders that are too old; a few at a time, for every new order asks.
DELETE FROM audit WHERE seq IN (
    SELECT seq FROM audit INDEXED BY audit_at WHERE at < ?1 ORDER BY at LIMIT 100
);

-- name: forget_many
-- Orders beyond as many as are kept.
DELETE FROM audit WHERE seq <= (SELECT max(seq) FROM audit) - ?1;

-- name: page
-- The last orders of somebody, or of everybody.
SELECT id, at, actor, role, action, targets, state, code, ended_at FROM audit
WHERE at >= ?1 AND (?2 = '' OR actor = ?2) AND (?3 = '' OR action = ?3)
ORDER BY seq DESC LIMIT ?4;
