//! Words that programs branch on. Each is spelt once, beside its enum, and never changes.

/// So many of a thing, as people say it: "1 job", "2 jobs", "3 retries".
pub fn counted(count: u64, thing: &str) -> String {
    if count == 1 {
        return format!("1 {thing}");
    }
    let plural = match thing.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if thing.ends_with(['s', 'x']) || thing.ends_with("ch") => format!("{thing}es"),
        _ => format!("{thing}s"),
    };
    format!("{count} {plural}")
}

/// An enum whose values have stable words outside.
pub trait Word: Copy + Eq + 'static {
    /// What the words stand for, as `Strategy`.
    const NAME: &'static str;
    const WORDS: &'static [&'static str];

    fn word(self) -> &'static str;
    fn of(word: &str) -> Option<Self>;
}

/// Spells an enum. What stands after the semicolon is shown, but is none of the words.
#[macro_export]
macro_rules! words {
    ($name:ident: $($variant:ident => $word:literal),+ $(,)? $(; $unset:ident => $shown:literal)?) => {
        impl $name {
            pub const ALL: [$name; [$($name::$variant),+].len()] = [$($name::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                    $($name::$unset => $shown,)?
                }
            }

            pub fn parse(text: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|one| one.as_str() == text)
            }
        }

        impl $crate::Word for $name {
            const NAME: &'static str = stringify!($name);
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(self) -> &'static str {
                self.as_str()
            }

            fn of(word: &str) -> Option<$name> {
                $name::parse(word)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_not_many() {
        let counts =
            [(0, "job"), (1, "job"), (2, "retry"), (1, "retry"), (3, "mismatch"), (2, "day")];
        let said: Vec<String> =
            counts.iter().map(|(count, thing)| counted(*count, thing)).collect();
        assert_eq!(said.join(", "), "0 jobs, 1 job, 2 retries, 1 retry, 3 mismatches, 2 days");
    }
}
