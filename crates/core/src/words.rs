//! Words that programs branch on. Each is spelt once, beside its enum, and never changes.

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
