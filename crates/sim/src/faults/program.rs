//! What a simulated job does when it runs. It travels in the payload, so a worker needs to know
//! nothing else, and a payload that arrives changed is noticed.

use bytes::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    pub temper: Temper,
    /// On a worker of ordinary speed.
    pub duration_ms: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temper {
    Succeeds,
    /// Its first attempts fail.
    FailsAtFirst,
    Fails,
    FailsForGood,
    /// It kills the worker that runs it.
    Poison,
    /// It runs for ever without progress.
    Hangs,
    /// It asks to be run again a little later, and then succeeds.
    Snoozes,
}

impl Temper {
    const ALL: [Temper; 7] = [
        Temper::Succeeds,
        Temper::FailsAtFirst,
        Temper::Fails,
        Temper::FailsForGood,
        Temper::Poison,
        Temper::Hangs,
        Temper::Snoozes,
    ];
}

impl Program {
    pub(crate) fn to_payload(self) -> Bytes {
        let mut bytes = vec![self.temper as u8];
        bytes.extend(self.duration_ms.to_le_bytes());
        Bytes::from(bytes)
    }

    /// None if the payload is not one of ours.
    pub(crate) fn from_payload(payload: &[u8]) -> Option<Program> {
        let (temper, duration) = payload.split_first()?;
        let temper = *Temper::ALL.get(usize::from(*temper))?;
        Some(Program { temper, duration_ms: u32::from_le_bytes(duration.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_survives_its_payload() {
        for temper in Temper::ALL {
            let program = Program { temper, duration_ms: 70_000 };
            assert_eq!(Program::from_payload(&program.to_payload()), Some(program));
        }
        assert_eq!(Program::from_payload(b"\x09abcd"), None);
    }
}
