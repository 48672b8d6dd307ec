//! Macros for sections, entries of lists and choices, so that each key is written only once.

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
                    $($($crate::Row::List(concat!($($list_doc),+), <$item as $crate::Item>::TABLE),)+)?
                ],
                example: "",
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

/// Defines the struct of a list's entries, with one field per key as in [`section!`](macro@crate::section).
///
/// `example` is an entry for the sample file, where removing the marks must give a good list. `needed` keys have no default; an entry without one of them is left out after the mistake. For a `settled` key,
/// `null` leaves it to the expression, which can use all other keys. `then` checks keys against each other by
/// their names; a needed key is an `Option` there, so that the mistakes of an entry are reported at once.
///
/// ```
/// use std::time::Duration;
/// use weir_config::{check, item};
///
/// item! {
///     /// A printer.
///     pub struct Printer in "printers", example "{ room: hall }" {
///         needed {
///             /// Where it stands.
///             room: String, check |room| check::path_word(room);
///         }
///         settled {
///             /// What it is called; null for its room.
///             name: String = format!("printer in {room}");
///         }
///         /// How long it may stay silent.
///         silence: Duration = "5m", check check::some_time;
///     }
///     then |fields| {
///         if name.is_some() && name == room {
///             fields.refuse("name", "choose another name than the room's");
///         }
///     }
/// }
/// ```
#[macro_export]
macro_rules! item {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident in $key:literal, example $example:literal {
            needed { $($(#[doc = $need_doc:literal])+ $need:ident: $need_type:ty $(, check $need_check:expr)?;)+ }
            $(settled { $($(#[doc = $settled_doc:literal])+ $settled:ident: $settled_type:ty = $usual:expr
                $(, check $settled_check:expr)?;)+ })?
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:literal $(, check $check:expr)?;)*
        }
        $(then |$fields:ident| $then:block)?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[doc = $need_doc])+ pub $need: $need_type,)+
            $($($(#[doc = $settled_doc])+ pub $settled: $settled_type,)+)?
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl $crate::Item for $name {
            const TABLE: &'static $crate::Table = &$crate::Table {
                key: $key,
                doc: concat!($($about),+),
                at_start: false,
                rows: &[
                    $($crate::Field::<$need_type>::needed(stringify!($need), concat!($($need_doc),+)).row(),)+
                    $($($crate::Field::<Option<$settled_type>>::new(
                        stringify!($settled), "null", concat!($($settled_doc),+)).row(),)+)?
                    $($crate::Field::<$type>::new(stringify!($field), $default, concat!($($doc),+)).row(),)*
                ],
                example: $example,
                gone: &[],
            };

            fn read(all: &mut $crate::Fields<'_>) -> Option<Self> {
                $(let $need = all.need(
                    &$crate::Field::<$need_type>::needed(stringify!($need), "")$(.check($need_check))?,
                );)+
                $($(let $settled = all.get(
                    &$crate::Field::<Option<$settled_type>>::new(stringify!($settled), "null", "")
                        $(.check($settled_check))?,
                );)+)?
                $(let $field = all.get(
                    &$crate::Field::<$type>::new(stringify!($field), $default, "")$(.check($check))?,
                );)*
                $({
                    let $fields = &mut *all;
                    $then
                })?
                $(let $need = $need?;)+
                $($(
                    let $settled = $settled.unwrap_or_else(|| $usual);
                    all.settle(stringify!($settled), &$settled);
                )+)?
                Some(Self { $($need,)+ $($($settled,)+)? $($field,)* })
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
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn wanted() -> String {
                format!("one of {}", Self::WORDS.join(", "))
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
