CREATE SCHEMA IF NOT EXISTS :log;
CREATE TABLE IF NOT EXISTS :log.reign (
    one             integer PRIMARY KEY CHECK (one = 1),
    epoch           bigint NOT NULL DEFAULT 0,
    member          integer NOT NULL DEFAULT 0,
    grpc            text NOT NULL DEFAULT '',
    http            text NOT NULL DEFAULT '',
    lease_us        bigint NOT NULL DEFAULT 0,
    until_us        bigint NOT NULL DEFAULT 0,
    seq             bigint NOT NULL DEFAULT 0,
    chain           bytea NOT NULL,
    base_seq        bigint NOT NULL DEFAULT 0,
    base_chain      bytea NOT NULL,
    members         integer NOT NULL DEFAULT 0,
    snapshots       bigint NOT NULL DEFAULT 0,
    snapshot        bigint NOT NULL DEFAULT 0,
    snapshot_seq    bigint NOT NULL DEFAULT 0,
    snapshot_chain  bytea,
    snapshot_parts  integer NOT NULL DEFAULT 0,
    snapshot_hash   bytea
);
CREATE TABLE IF NOT EXISTS :log.records (
    last   bigint PRIMARY KEY,
    chain  bytea NOT NULL,
    bytes  bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS :log.parts (
    snapshot  bigint NOT NULL,
    part      integer NOT NULL,
    bytes     bytea NOT NULL,
    PRIMARY KEY (snapshot, part)
);
INSERT INTO :log.reign (one, chain, base_chain)
    VALUES (1, decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'))
    ON CONFLICT (one) DO NOTHING;
