//! Under what an average is kept.

use super::Features;

/// Which features a key tells apart besides the type, which it always does. Finer levels come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Sender, cpu and size.
    Sender,
    /// Cpu and size.
    Size,
}

impl Level {
    pub(super) const ALL: [Level; 2] = [Level::Sender, Level::Size];
}

/// Level, type, sender and size in one number, cpu and worker class in another. What differs most
/// lies in the low bits, from where the hash spreads it furthest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key(u64, u64);

impl Key {
    /// Without a class, the key is of what jobs take on average over workers.
    pub(super) fn new(level: Level, features: &Features, class: Option<u32>) -> Key {
        let (level, sender, size, cpu) = match level {
            Level::Sender => (0, features.sender, features.size_bucket, features.cpu),
            Level::Size => (1, 0, features.size_bucket, features.cpu),
        };
        // Interned numbers stay below 2^24: see INTERNED_MAX.
        let class = class.map_or(0, |class| u64::from(class) + 1);
        let what = u64::from(features.kind)
            | u64::from(sender) << 24
            | u64::from(size) << 48
            | level << 56;
        Key(what, class | u64::from(cpu) << 24)
    }
}

/// The same, told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellKey {
    pub job_type: u32,
    /// None is all senders.
    pub sender: Option<u32>,
    pub size_bucket: u8,
    /// Millicores.
    pub cpu: u32,
    /// None is the average over machines.
    pub machine: Option<u32>,
}

impl From<Key> for CellKey {
    fn from(Key(what, place): Key) -> CellKey {
        let number = |value: u64| (value & 0xff_ffff) as u32;
        CellKey {
            job_type: number(what),
            sender: (what >> 56 == 0).then_some(number(what >> 24)),
            size_bucket: (what >> 48) as u8,
            cpu: (place >> 24) as u32,
            machine: number(place).checked_sub(1),
        }
    }
}

impl From<CellKey> for Key {
    fn from(key: CellKey) -> Key {
        let CellKey { job_type, sender, size_bucket, cpu, machine } = key;
        let level = if sender.is_some() { Level::Sender } else { Level::Size };
        let sender = sender.unwrap_or_default();
        Key::new(level, &Features { kind: job_type, sender, size_bucket, cpu }, machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limits::INTERNED_MAX;

    #[test]
    fn every_feature_and_level_makes_its_own_key() {
        let last = INTERNED_MAX as u32;
        let base = Features { kind: last, sender: last, size_bucket: 128, cpu: u32::MAX };
        let mut keys = Vec::new();
        for level in Level::ALL {
            for class in [None, Some(0), Some(1), Some(last)] {
                keys.push(Key::new(level, &base, class));
            }
        }
        for changed in [
            Features { kind: 1, ..base },
            Features { sender: 1, ..base },
            Features { size_bucket: 1, ..base },
            Features { cpu: 1, ..base },
        ] {
            keys.push(Key::new(Level::Sender, &changed, None));
        }
        for key in &keys {
            assert_eq!(Key::from(CellKey::from(*key)), *key);
        }
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
