//! What the server carries out as a whole: each of these is one statement. Whoever changes the one row
//! of `reign` holds it until the statement ends, so what was checked there holds as long.

/// By the server's clock, which goes on within a statement.
const NOW: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)";

#[derive(Debug)]
pub(super) struct Statements {
    pub(super) look: String,
    pub(super) limit_lease: String,
    pub(super) accede: String,
    pub(super) renew: String,
    pub(super) resign: String,
    pub(super) append: String,
    pub(super) read: String,
    pub(super) enroll: String,
    pub(super) begin_snapshot: String,
    pub(super) write_part: String,
    pub(super) finish_snapshot: String,
    pub(super) begin_at: String,
    pub(super) base: String,
    pub(super) forget_records: String,
    pub(super) forget_parts: String,
    pub(super) snapshot: String,
    pub(super) part: String,
}

impl Statements {
    pub(super) fn new(schema: &str) -> Statements {
        let of = |text: &str| text.replace(":log", schema).replace("NOW()", NOW);
        Statements {
            look: of("SELECT epoch, member, grpc, http, seq, chain, base_seq, base_chain, \
                 until_us - NOW() AS left_us, lease_us FROM :log.reign"),
            // The clock was set back: nobody must wait for longer than a lease.
            limit_lease: of("UPDATE :log.reign SET until_us = NOW() + lease_us \
                 WHERE until_us > NOW() + lease_us"),
            accede: of(
                "UPDATE :log.reign SET epoch = greatest(epoch, $5) + 1, member = $1, grpc = $2, http = $3, \
                 lease_us = $4, until_us = NOW() + $4 WHERE until_us <= NOW() OR member = $1 \
                 RETURNING epoch, seq, chain",
            ),
            renew: of("UPDATE :log.reign SET lease_us = $2, until_us = NOW() + $2 \
                 WHERE epoch = $1 AND until_us <> 0"),
            resign: of("UPDATE :log.reign SET until_us = 0 WHERE epoch = $1"),
            append: of("WITH reign AS (UPDATE :log.reign SET seq = $4, chain = $5, \
                 lease_us = $7, until_us = NOW() + $7 \
                 WHERE epoch = $1 AND until_us <> 0 AND seq = $2 AND chain = $3 RETURNING one) \
                 INSERT INTO :log.records (last, chain, bytes) SELECT $4, $5, CAST($6 AS bytea) FROM reign"),
            read: of("SELECT last, chain, bytes FROM (SELECT last, chain, bytes, \
                 sum(length(bytes)) OVER (ORDER BY last) - length(bytes) AS before FROM \
                 (SELECT last, chain, bytes FROM :log.records WHERE last > $1 \
                 ORDER BY last LIMIT $3) AS next) AS summed WHERE before < $2 ORDER BY last"),
            enroll: of("UPDATE :log.reign SET members = members + 1 RETURNING members"),
            begin_snapshot: of("UPDATE :log.reign SET snapshots = snapshots + 1 WHERE epoch = $1 \
                 RETURNING snapshots"),
            write_part: of("INSERT INTO :log.parts (snapshot, part, bytes) \
                 SELECT $2, CAST($3 AS integer), CAST($4 AS bytea) FROM :log.reign WHERE epoch = $1 AND snapshots = $2"),
            finish_snapshot: of("UPDATE :log.reign SET snapshot = $2, snapshot_seq = $3, \
                 snapshot_chain = $4, snapshot_parts = $5, snapshot_hash = $6, \
                 base_seq = $7, base_chain = $8 WHERE epoch = $1 AND snapshots = $2"),
            begin_at: of("UPDATE :log.reign SET snapshot = $2, snapshot_seq = $3, \
                 snapshot_chain = $4, snapshot_parts = $5, snapshot_hash = $6, seq = $3, chain = $4, \
                 base_seq = $3, base_chain = $4 WHERE epoch = $1 AND snapshots = $2 AND seq = 0"),
            base: of("SELECT last, chain FROM :log.records WHERE last < $1 \
                 ORDER BY last DESC LIMIT 1"),
            forget_records: of("DELETE FROM :log.records WHERE last < $1"),
            forget_parts: of("DELETE FROM :log.parts WHERE snapshot < $1"),
            snapshot: of("SELECT snapshot, snapshot_seq, snapshot_chain, snapshot_parts, \
                 snapshot_hash FROM :log.reign WHERE snapshot <> 0"),
            part: of("SELECT bytes FROM :log.parts WHERE snapshot = $1 AND part = $2"),
        }
    }
}
