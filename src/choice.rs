//! Options with a few named values.

/// Types whose values users choose by name.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// Values to choose from, in display order.
    const VALUES: &'static [Named<Self>];

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

/// Declares an enum whose values users choose by name. The comment on a value is its description; `@default` marks the default.
macro_rules! choices {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[doc = $help:literal])+ $(@$default:ident)? $value:ident = $text:literal,)+
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[doc = $help])+ $(#[$default])? $value,)+
        }

        impl $crate::choice::Choice for $name {
            const VALUES: &'static [$crate::choice::Named<Self>] = &[
                $($crate::choice::Named::new($name::$value, $text, concat!($($help),+).trim_ascii()),)+
            ];
        }
    };
}
pub(crate) use choices;
