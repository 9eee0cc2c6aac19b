-- Who may do more than play. Only the owner of the schema writes here (`macao grant`): a service that was
-- taken over cannot make itself an operator by this table.
CREATE TABLE macao_runtime.grants (
    player     text COLLATE "C" NOT NULL REFERENCES macao_runtime.players (id) ON DELETE CASCADE,
    scope      text NOT NULL CHECK (scope IN ('audit', 'operate')),
    granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (player, scope)
);

GRANT SELECT ON macao_runtime.grants TO macao_app;
