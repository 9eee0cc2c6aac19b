-- What every append paid for and nobody needs.

-- The position of a command's last event follows from its stream and version; kept here, commands could only be written
-- under the lock that numbers.
ALTER TABLE macao_log.commands DROP COLUMN position;

-- A length says as much as a pattern: append_many takes the letter from the id.
ALTER TABLE macao_log.streams
    DROP CONSTRAINT streams_kind_is_a_letter,
    ADD CONSTRAINT streams_kind_is_a_letter CHECK (octet_length(kind) = 1);

-- Moved by append_many alone, see functions/refuse_change.sql.
DROP TRIGGER IF EXISTS forward_only ON macao_log.streams;
