//! Parts in a file: each with its length before it.

use std::io::{self, Read, Write};

use bellwether_wire::v1;
use prost::Message as _;

/// A part that claims to be larger is none. A record is at most as large as what a batch may hold.
const PART_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error("this is no backup: {0}")]
    Unreadable(String),
    #[error("the backup is cut off")]
    CutOff,
    #[error("the backup could not be read: {0}")]
    Io(io::Error),
}

pub fn write_part(to: &mut impl Write, part: &v1::BackupPart) -> io::Result<()> {
    let bytes = part.encode_to_vec();
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)
}

/// The parts of a file, up to the one that ends it.
#[derive(Debug)]
pub struct Parts<R> {
    from: R,
    ended: bool,
}

impl<R: Read> Parts<R> {
    pub fn new(from: R) -> Parts<R> {
        Parts { from, ended: false }
    }

    fn part(&mut self) -> Result<v1::BackupPart, StreamError> {
        let mut length = [0; 8];
        self.from.read_exact(&mut length).map_err(cut_off)?;
        let length = u64::from_le_bytes(length);
        if length > PART_BYTES_MAX {
            return Err(StreamError::Unreadable("a part of it is longer than any".to_owned()));
        }
        let mut bytes = Vec::new();
        self.from.by_ref().take(length).read_to_end(&mut bytes).map_err(StreamError::Io)?;
        if (bytes.len() as u64) < length {
            return Err(StreamError::CutOff);
        }
        v1::BackupPart::decode(bytes.as_slice())
            .map_err(|_| StreamError::Unreadable("a part of it has another form".to_owned()))
    }
}

impl<R: Read> Iterator for Parts<R> {
    type Item = Result<v1::BackupPart, StreamError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let part = self.part();
        let is_end =
            |part: &v1::BackupPart| matches!(part.part, Some(v1::backup_part::Part::End(_)));
        self.ended = part.as_ref().map_or(true, is_end);
        Some(part)
    }
}

fn cut_off(error: io::Error) -> StreamError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        StreamError::CutOff
    } else {
        StreamError::Io(error)
    }
}
