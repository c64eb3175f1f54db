//! A file, read a large piece at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use bytes::Bytes;

use crate::journal::ReadError;

/// Read at once, where less is asked for.
const PIECE_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Window {
    file: File,
    /// The piece at hand, and where it starts.
    piece: Bytes,
    start: u64,
}

impl Window {
    pub(super) fn new(file: File) -> Window {
        Window { file, piece: Bytes::new(), start: 0 }
    }

    /// The bytes from there on, fewer only at the end of the file.
    pub(super) fn bytes_at(&mut self, offset: u64, length: usize) -> Result<Bytes, ReadError> {
        if let Some(bytes) = self.at_hand(offset, length) {
            return Ok(bytes);
        }
        self.piece = self.read(offset, length.max(PIECE_BYTES))?;
        self.start = offset;
        Ok(self.piece.slice(..length.min(self.piece.len())))
    }

    /// Everything from there on.
    pub(super) fn rest(&self, offset: u64) -> Result<Bytes, ReadError> {
        let end = self.file.metadata().map_err(ReadError::Io)?.len();
        self.read(offset, end.saturating_sub(offset) as usize)
    }

    fn at_hand(&self, offset: u64, length: usize) -> Option<Bytes> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        (from + length <= self.piece.len()).then(|| self.piece.slice(from..from + length))
    }

    fn read(&self, offset: u64, length: usize) -> Result<Bytes, ReadError> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Io(error)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes.into())
    }
}
