-- Several logs on Citus, by schema-based sharding (Citus 12 or newer). NOT RUN BY US: read docs/several-logs.md first, and
-- try it on a copy. To be run on the coordinator, in the main database, by the owner, after `macao logs add`.
--
-- Every schema of a log becomes a distributed schema, whole on one node. The main schemas stay where they are.

CREATE EXTENSION IF NOT EXISTS citus;

SELECT citus_schema_distribute(nspname::regnamespace)
FROM pg_namespace
WHERE (nspname ~ '^macao_log_[a-z]' OR nspname ~ '^macao_tree_[a-z]')
    AND oid NOT IN (SELECT schemaid FROM pg_dist_schema);

-- The tree over a log lives on the node of the log: they are read in one go.
SELECT citus_schema_move(tree.schema_name, log.nodename, log.nodeport)
FROM (SELECT DISTINCT schema_name, nodename, nodeport FROM citus_shards) AS log
JOIN (SELECT DISTINCT schema_name, nodename, nodeport FROM citus_shards) AS tree
    ON tree.schema_name = replace(log.schema_name, 'macao_log_', 'macao_tree_')
WHERE log.schema_name ~ '^macao_log_[a-z]' AND (tree.nodename, tree.nodeport) <> (log.nodename, log.nodeport);

-- Appends run where the log is: the whole function in one round trip, its locks on that node.
SELECT create_distributed_function(format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)))
FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname ~ '^macao_log_[a-z]' AND p.proname = 'append_many';
