//! Everything that a scheduler keeps, of one moment, as a stream of parts: taken while it works, written
//! to a file by whoever asked, and made a data directory again, as of its end or of any moment that its
//! journal reaches back to.
//!
//! The parts come in this order: where the journal begins, the latest snapshot, the records as they lie
//! in the journal, the other files, and the end with a hash of all before it. Each has its length in
//! front of it in a file.
//!
//! Deliberately absent: a way to put a backup back under a scheduler that runs. A restore makes a new
//! directory, and leaves the old one to whoever wants to look into what happened.

mod files;
mod pack;
mod stream;
mod unpack;

pub use files::FilesError;
pub use pack::{Kept, PackError, Sink, Source, pack};
pub use stream::{Parts, StreamError, write_part};
pub use unpack::{Restored, UnpackError, Unpacker, Until};

/// What is written in a way that older programs can't read gets another one.
const FORMAT: u32 = 1;
