-- name: join
-- A node begins; nobody takes over from it before it expires.
INSERT INTO nodes (id, started_at, expires) VALUES (?1, hermes_now(), hermes_now() + ?2);

-- name: beat
-- A node is alive, unless others took over from it.
UPDATE nodes SET expires = hermes_now() + ?2 WHERE id = ?1 AND buried_at IS NULL;

-- name: silent
-- Other nodes that have not been heard of for too long.
SELECT id FROM nodes WHERE id <> ?1 AND buried_at IS NULL AND expires <= hermes_now() ORDER BY id;

-- name: others
-- Every other node that was not buried.
SELECT id FROM nodes WHERE id <> ?1 AND buried_at IS NULL ORDER BY id;

-- name: bury_dead
-- A node of which it is known that it is dead, whatever the clock says.
UPDATE nodes SET buried_at = hermes_now() WHERE id = ?1 AND buried_at IS NULL;

-- name: bury
-- A silent node is dead from now on; if it wakes up, it can write nothing.
UPDATE nodes SET buried_at = hermes_now() WHERE id = ?1 AND buried_at IS NULL AND expires <= hermes_now();

-- name: forget_buried
-- Nodes that were buried long ago.
DELETE FROM nodes WHERE buried_at < hermes_now() - ?1;

-- name: free_lanes
-- What a dead node was working on was cut off; its leases are void.
UPDATE lanes SET owner = NULL, fence = fence + 1, restarts = restarts + 1 WHERE owner = ?1
RETURNING key;

-- name: free_claims
-- What a dead node did alone, another one may do.
UPDATE claims SET node = NULL, fence = fence + 1 WHERE node = ?1;

-- name: claim
-- Take what one node at a time does, unless a living one has it.
INSERT INTO claims (name, node, fence)
SELECT ?1, nodes.id, 1 FROM nodes WHERE nodes.id = ?2 AND nodes.buried_at IS NULL
ON CONFLICT (name) DO UPDATE SET node = excluded.node,
    fence = CASE WHEN claims.node = excluded.node THEN claims.fence ELSE claims.fence + 1 END
WHERE claims.node IS NULL OR claims.node = excluded.node
RETURNING fence;

-- name: release
-- Give back what this node did alone.
UPDATE claims SET node = NULL, fence = fence + 1 WHERE name = ?1 AND node = ?2;
