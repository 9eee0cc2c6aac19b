-- The Merkle tree over the log (RFC 6962), and what the service signed about it.
--
-- A tile holds the hashes of 256 neighbours: at level 0 of leaves, at level n + 1 of the tiles at level n. It is written
-- when all 256 are there and is never changed; what lies right of the last tile is worked out from the events. Tiles
-- follow from the log and can be thrown away: the sealer writes the same ones again.
-- Checkpoints do not follow from anything. They are kept as they were signed.
CREATE SCHEMA macao_tree;

COMMENT ON SCHEMA macao_tree IS 'The Merkle tree over the log, and the signed checkpoints of it.';

CREATE TABLE macao_tree.tiles (
    level  integer NOT NULL,
    number bigint NOT NULL,
    root   bytea NOT NULL,
    hashes bytea NOT NULL,
    CONSTRAINT tiles_pkey PRIMARY KEY (level, number),
    CONSTRAINT tiles_lie_in_the_tree CHECK (level >= 0 AND number >= 0),
    CONSTRAINT tiles_are_full CHECK (octet_length(root) = 32 AND octet_length(hashes) = 256 * 32)
);

ALTER TABLE macao_tree.tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;  -- hashes cannot be compressed

COMMENT ON TABLE macao_tree.tiles IS 'One row for every 256 neighbours of a level of the tree, once they are complete.';
COMMENT ON COLUMN macao_tree.tiles.root IS 'The hash of the node over these 256: an element of a tile one level up.';

CREATE TABLE macao_tree.checkpoints (
    size       bigint NOT NULL,
    at_ms      bigint NOT NULL,
    root       bytea NOT NULL,
    key_id     text COLLATE "C" NOT NULL,
    public_key bytea NOT NULL,
    signature  bytea NOT NULL,
    CONSTRAINT checkpoints_pkey PRIMARY KEY (size),
    CONSTRAINT checkpoints_size_counts_from_one CHECK (size >= 1),
    CONSTRAINT checkpoints_lengths CHECK (
        octet_length(root) = 32 AND octet_length(public_key) = 32 AND octet_length(signature) = 64
    )
);

COMMENT ON TABLE macao_tree.checkpoints IS 'What was signed: so many events, and the root of the tree over them.';
COMMENT ON COLUMN macao_tree.checkpoints.at_ms IS 'When it was signed, Unix time in ms; covered by the signature.';

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON macao_tree.checkpoints
    FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_change();
ALTER TABLE macao_tree.checkpoints ENABLE ALWAYS TRIGGER append_only;

GRANT USAGE ON SCHEMA macao_tree TO macao_app;
GRANT SELECT, INSERT ON macao_tree.tiles, macao_tree.checkpoints TO macao_app;
