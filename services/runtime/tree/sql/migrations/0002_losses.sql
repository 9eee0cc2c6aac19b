-- Ends of the log that were signed and are gone, as an operator has declared them (`macao accept-loss`).
--
-- Only the owner of the schema writes here: a service that was taken over cannot declare a loss to rewrite history.
CREATE TABLE macao_tree.losses (
    at_ms      bigint NOT NULL,
    log        text COLLATE "C" NOT NULL,
    kept       bigint NOT NULL,
    root       bytea NOT NULL,
    lost       bigint NOT NULL,
    lost_root  bytea NOT NULL,
    reason     text NOT NULL,
    key_id     text COLLATE "C" NOT NULL,
    public_key bytea NOT NULL,
    signature  bytea NOT NULL,
    CONSTRAINT losses_pkey PRIMARY KEY (log, at_ms),
    CONSTRAINT losses_lose_something CHECK (kept >= 0 AND lost > kept),
    CONSTRAINT losses_lengths CHECK (
        octet_length(root) = 32 AND octet_length(lost_root) = 32 AND octet_length(public_key) = 32
        AND octet_length(signature) = 64
    )
);

COMMENT ON TABLE macao_tree.losses IS 'What was signed and lost: checkpoints of more than `kept` events up to `at_ms` do not count.';
COMMENT ON COLUMN macao_tree.losses.root IS 'The root over the events that are kept.';
COMMENT ON COLUMN macao_tree.losses.lost IS 'How many events the largest checkpoint was over that does not count any more.';

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON macao_tree.losses
    FOR EACH STATEMENT EXECUTE FUNCTION macao_log.refuse_change();
ALTER TABLE macao_tree.losses ENABLE ALWAYS TRIGGER append_only;

GRANT SELECT ON macao_tree.losses TO macao_app;

-- Behind a loss the log grows through the same sizes again.
ALTER TABLE macao_tree.checkpoints
    DROP CONSTRAINT checkpoints_pkey,
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (size, at_ms);
