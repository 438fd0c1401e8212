//! Options with a few named values.

/// Types whose values users choose by name.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// Values to choose from, in display order.
    const VALUES: &'static [Named<Self>];

    /// The same values as words.
    const WORDS: &'static [OptionWord];

    /// Name of the value; `None` if users cannot choose it.
    fn name(self) -> Option<&'static str> {
        Self::VALUES.iter().find(|named| named.value == self).map(|named| named.name)
    }

    /// The value with this name.
    fn named(name: &str) -> Option<Self> {
        Self::VALUES.iter().find(|named| named.name == name).map(|named| named.value)
    }
}

/// A value with its name and a description.
#[derive(Debug, Clone, Copy)]
pub struct Named<T> {
    /// The value.
    pub value: T,
    /// Name of the value, also in files.
    pub name: &'static str,
    /// A description for users, without a full stop.
    pub help: &'static str,
}

impl<T> Named<T> {
    /// A value with its name and a description.
    pub const fn new(value: T, name: &'static str, help: &'static str) -> Self {
        Named { value, name, help }
    }
}

/// A word that an option accepts as its value.
#[derive(Debug)]
pub struct OptionWord {
    /// The word itself.
    pub name: &'static str,
    /// Meaning of the word.
    pub help: &'static str,
}

/// Declares an enum whose values have names, by which users choose them. The comment on a value is its description, unless one follows a colon;
/// `@default` marks the default. Values after a semicolon cannot be chosen.
macro_rules! choices {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[doc = $doc:literal])+ $(@$default:ident)? $value:ident = $text:literal $(: $help:literal)?,)+
        $(; $($(#[doc = $other_doc:literal])+ $other:ident,)+)?
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[doc = $doc])+ $(#[$default])? $value,)+
            $($($(#[doc = $other_doc])+ $other,)+)?
        }

        impl $crate::words::choice::Choice for $name {
            const VALUES: &'static [$crate::words::choice::Named<Self>] = &[$($crate::words::choice::Named::new(
                $name::$value, $text, $crate::words::choice::choices!(@help [$($doc)+] $($help)?),
            ),)+];
            const WORDS: &'static [$crate::words::choice::OptionWord] = &[$($crate::words::choice::OptionWord {
                name: $text, help: $crate::words::choice::choices!(@help [$($doc)+] $($help)?),
            },)+];
        }
    };
    (@help [$($doc:literal)+]) => { concat!($($doc),+).trim_ascii() };
    (@help [$($doc:literal)+] $help:literal) => { $help };
}
pub(crate) use choices;
