-- What people wrote in disputes: complaints, and reasons of rulings. Events hold a seal over the words (`seal_of` in
-- services/contracts/chain.py) and never the words themselves, so that words that name somebody can be erased: the row
-- goes, salt and all, and nothing in the log says any more what they were.
create table macao_engine.dispute_words (
    seal    bytea  primary key check (octet_length(seal) = 32),
    dispute text   collate "C" not null,
    part    text   not null check (part in ('complaint', 'reasons')),
    author  text   collate "C" not null,
    players text[] not null,
    salt    bytea  not null,
    words   text   not null
);

create index dispute_words_by_dispute on macao_engine.dispute_words (dispute);
create index dispute_words_by_author on macao_engine.dispute_words (author);

comment on column macao_engine.dispute_words.players is 'Who sat in the match; a text that names one of them can be found.';

grant select, insert, delete on macao_engine.dispute_words to macao_app;
