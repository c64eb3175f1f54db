//! What the server carries out as a whole. Redis runs one script at a time, so what a script has
//! checked holds until it ends.

use redis::Script;

#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) look: Script,
    pub(super) accede: Script,
    pub(super) renew: Script,
    pub(super) resign: Script,
    pub(super) append: Script,
    pub(super) read: Script,
    pub(super) begin_snapshot: Script,
    pub(super) write_snapshot: Script,
    pub(super) finish_snapshot: Script,
    pub(super) begin_at: Script,
    pub(super) enroll: Script,
}

impl Scripts {
    pub(super) fn new() -> Scripts {
        Scripts {
            look: Script::new(include_str!("scripts/look.lua")),
            accede: Script::new(include_str!("scripts/accede.lua")),
            renew: Script::new(include_str!("scripts/renew.lua")),
            resign: Script::new(include_str!("scripts/resign.lua")),
            append: Script::new(include_str!("scripts/append.lua")),
            read: Script::new(include_str!("scripts/read.lua")),
            begin_snapshot: Script::new(include_str!("scripts/begin_snapshot.lua")),
            write_snapshot: Script::new(include_str!("scripts/write_snapshot.lua")),
            finish_snapshot: Script::new(include_str!("scripts/finish_snapshot.lua")),
            begin_at: Script::new(include_str!("scripts/begin_at.lua")),
            enroll: Script::new(include_str!("scripts/enroll.lua")),
        }
    }
}
