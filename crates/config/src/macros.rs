//! Macros for sections and choices, so that each key is written only once.

/// Defines a section's struct, with one field per key: name, type, default and documentation in one place.
///
/// `at start` marks a key that a reload does not apply, or a section where that is true of every key.
/// `sections` are sections inside this one. `lists` says how a list of sections is read; it can use the keys
/// read above. `gone` has keys of earlier versions and what to do about each. `then` checks keys against
/// each other.
///
/// ```
/// use std::time::Duration;
/// use weir_config::{Fields, check, section};
///
/// section! {
///     /// How long things are kept.
///     pub struct Cache in "cache" {
///         /// Articles.
///         article: Duration = "24h", check check::some_time, variable "ARTICLE_AGE";
///         /// What was not found.
///         not_found: Duration = "60s";
///         /// Memory for all of it, in MiB.
///         memory: u32 = "64", at start;
///     }
///     then |cache, fields| {
///         if cache.not_found > cache.article {
///             fields.refuse("not_found", "make this shorter than article");
///         }
///     }
/// }
/// assert_eq!(Cache::default().not_found, Duration::from_secs(60));
/// ```
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident in $key:literal $(, at $all_at:ident)? {
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:literal
                $(, at $at:ident)? $(, check $check:expr)? $(, variable $variable:literal)?;)*
        }
        $(sections { $($(#[doc = $inner_doc:literal])+ $inner:ident: $inner_type:ty;)+ })?
        $(lists |$reader:ident| { $($(#[doc = $list_doc:literal])+ $list:ident: Vec<$item:ty> = $read:expr;)+ })?
        $(gone { $($old:ident: $advice:literal;)+ })?
        $(then |$value:ident, $fields:ident| $then:block)?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[doc = $inner_doc])+ pub $inner: $inner_type,)+)?
            $($($(#[doc = $list_doc])+ pub $list: Vec<$item>,)+)?
        }

        impl $crate::Section for $name {
            const TABLE: &'static $crate::Table = &$crate::Table {
                key: $key,
                doc: concat!($($about),+),
                at_start: $crate::is_at_start!($($all_at)?),
                rows: &[
                    $($crate::Field::<$type>::new(stringify!($field), $default, concat!($($doc),+))
                        .at_start($crate::is_at_start!($($at)?))$(.variable($variable))?.row(),)*
                    $($($crate::Row::Section(<$inner_type as $crate::Section>::TABLE),)+)?
                    $($($crate::Row::List(<$item as $crate::Item>::TABLE),)+)?
                ],
                gone: &[$($((stringify!($old), $advice),)+)?],
            };

            fn read(all: &mut $crate::Fields<'_>) -> Self {
                $(let $field = all.get(
                    &$crate::Field::<$type>::new(stringify!($field), $default, "")
                        .at_start($crate::is_at_start!($($at)?))$(.check($check))?,
                );)*
                $($(let $inner = all.section::<$inner_type>();)+)?
                $(let $reader = &mut *all; $(let $list: Vec<$item> = $read;)+)?
                #[allow(unused_mut, reason = "not every section looks at its keys together")]
                let mut config = Self { $($field,)* $($($inner,)+)? $($($list,)+)? };
                $({
                    let $value = &mut config;
                    let $fields = &mut *all;
                    $then
                })?
                config
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::defaults()
            }
        }
    };
}

/// Whether a key was marked `at start`; any other word after `at` does not compile.
#[doc(hidden)]
#[macro_export]
macro_rules! is_at_start {
    () => {
        false
    };
    (start) => {
        true
    };
}

/// Defines an enum whose variants are words in the file.
///
/// ```
/// weir_config::choices! {
///     /// How leechers are counted.
///     pub enum CountBy {
///         /// One per address.
///         Ip = "ip",
///         /// One per address and port.
///         Endpoint = "endpoint",
///     }
/// }
/// ```
#[macro_export]
macro_rules! choices {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$each:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$each])* $variant),+ }

        impl $crate::Setting for $name {
            fn wanted() -> String {
                format!("one of {}", [$($word),+].join(", "))
            }

            fn read(node: &$crate::Node) -> Result<Self, Vec<$crate::Wrong>> {
                $crate::from_text(node, |text| match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                })
            }

            fn show(&self) -> String {
                match self { $(Self::$variant => $word),+ }.to_owned()
            }
        }
    };
}
