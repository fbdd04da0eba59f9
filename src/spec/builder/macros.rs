//! The macro that makes a typed builder from a name and its keys.

/// Makes a type for each item, with one method for each key.
macro_rules! items {
    ($($(#[$doc:meta])* $name:ident = $begin:expr; { $($(#[$key_doc:meta])* $method:ident($key:literal): $of:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[must_use]
        pub struct $name(Item);

        impl $name {
            /// Begins the table.
            #[track_caller]
            pub fn builder() -> Self {
                Self($begin)
            }

            $($(#[$key_doc])*
            #[track_caller]
            pub fn $method(self, value: $of) -> Self {
                self.with($key, value)
            })*

            /// Sets a key by its name, one that the list does not have or a nested one.
            #[track_caller]
            pub fn with(self, key: &str, value: impl Into<SettingValue>) -> Self {
                Self(self.0.set(key, value))
            }
        }

        impl From<$name> for Item {
            fn from(item: $name) -> Self {
                item.0
            }
        }

        impl From<$name> for SettingValue {
            fn from(item: $name) -> Self {
                Self::Item(item.0)
            }
        }
    )*};
}

pub(super) use items;
