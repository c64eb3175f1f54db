//! Enums that know all their variants.

/// Defines an enum without data and `ALL`, the list of its variants, so that no variant can be left
/// off the list.
#[macro_export]
macro_rules! listed {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        $visibility enum $name {
            $($(#[$of_variant])* $variant),*
        }

        impl $name {
            /// In the order of their definition.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
        }
    };
}
