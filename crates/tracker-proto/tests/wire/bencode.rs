//! Our bencode against itself, against another crate and against nonsense.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bendy::value::Value as Oracle;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use weir_tracker_proto::bencode::{Error, MAX_DEPTH, MAX_ITEMS, Value, Writer, read, read_prefix};

use crate::oracle;

proptest! {
    #[test]
    fn the_oracle_reads_what_we_write(tree in tree()) {
        let mut bytes = Vec::new();
        write(&tree, &mut Writer::new(&mut bytes));
        prop_assert_eq!(oracle::read(&bytes).expect("bencode"), tree);
    }

    #[test]
    fn we_read_what_the_oracle_writes(tree in tree()) {
        let bytes = oracle::write(&tree);
        prop_assert_eq!(owned(read(&bytes).expect("bencode")), tree);
    }

    #[test]
    fn what_the_oracle_reads_we_read_the_same(bytes in nearly()) {
        if let Ok(theirs) = oracle::read(&bytes) {
            let (ours, _) = read_prefix(&bytes).expect("we are no stricter");
            prop_assert_eq!(owned(ours), theirs);
        }
    }
}

#[test]
fn malformed_bencode_is_refused() {
    for (bytes, error) in [
        ("", Error::Cut),
        ("i", Error::Cut),
        ("i1", Error::Cut),
        ("l", Error::Cut),
        ("d1:ai1e", Error::Cut),
        ("5:four", Error::Cut),
        ("18446744073709551615:x", Error::Cut),
        ("99999999999999999999999:x", Error::Cut),
        ("x", Error::Syntax),
        ("e", Error::Syntax),
        ("-1:a", Error::Syntax),
        ("d1:ae", Error::Syntax),
        ("d1:a1:be ", Error::Trailing),
        ("i1ei1e", Error::Trailing),
        ("ie", Error::Number),
        ("i-e", Error::Number),
        ("i-0e", Error::Number),
        ("i01e", Error::Number),
        ("i-01e", Error::Number),
        ("i00e", Error::Number),
        ("i+1e", Error::Number),
        ("i1.5e", Error::Number),
        ("i--1e", Error::Number),
        ("01:a", Error::Number),
        ("1a", Error::Number),
        ("di1ei2ee", Error::Key),
        ("d1:a1:bl1:ce1:dee", Error::Key),
    ] {
        assert_eq!(read(bytes.as_bytes()), Err(error), "{bytes}");
    }
}

#[test]
fn integers_beyond_64_bits_are_the_nearest_that_fit() {
    let large = read(b"i18446744073709551615e").expect("bencode");
    assert_eq!(large.integer(), Some(i64::MAX));
    let small = read(b"i-9223372036854775809e").expect("bencode");
    assert_eq!(small.integer(), Some(i64::MIN));
    let least = read(b"i-9223372036854775808e").expect("bencode");
    assert_eq!(least.integer(), Some(i64::MIN));
}

#[test]
fn keys_out_of_order_are_read_and_the_first_of_a_key_counts() {
    let value = read(b"d1:bi1e1:ai2e1:bi3ee").expect("bencode");
    let dict = value.dict().expect("a dictionary");
    assert_eq!(dict.get(b"a"), Some(Value::Integer(2)));
    assert_eq!(dict.get(b"b"), Some(Value::Integer(1)));
    assert_eq!(dict.get(b"c"), None);
    let keys: Vec<_> = dict.map(|(key, _)| key).collect();
    assert_eq!(keys, [b"b", b"a", b"b"]);
}

#[test]
fn what_follows_a_value_is_given_back() {
    assert_eq!(read_prefix(b"i7e\n"), Ok((Value::Integer(7), &b"\n"[..])));
}

#[test]
fn depth_and_number_of_values_are_bounded() {
    let nested = |depth: usize| ["l".repeat(depth), "e".repeat(depth)].concat();
    let most = MAX_DEPTH as usize;
    read(nested(most).as_bytes()).expect("just deep enough");
    assert_eq!(read(nested(most + 1).as_bytes()), Err(Error::Deep));
    assert_eq!(read("l".repeat(1 << 20).as_bytes()), Err(Error::Deep));
    let many = ["l", &"0:".repeat(MAX_ITEMS as usize), "e"].concat();
    assert_eq!(read(many.as_bytes()), Err(Error::Many));
}

fn tree() -> impl Strategy<Value = Oracle<'static>> {
    let string = || vec(any::<u8>(), 0..24);
    let leaf = prop_oneof![
        any::<i64>().prop_map(Oracle::Integer),
        string().prop_map(|bytes| Oracle::Bytes(Cow::Owned(bytes))),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Oracle::List),
            btree_map(string().prop_map(Cow::Owned), inner, 0..6).prop_map(Oracle::Dict),
        ]
    })
}

/// Bytes that have a fair chance of being bencode.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(b"01239ilde:-a".to_vec()), 1..10)
}

fn write(tree: &Oracle<'_>, writer: &mut Writer<'_>) {
    match tree {
        Oracle::Integer(integer) => writer.integer(*integer),
        Oracle::Bytes(bytes) => writer.bytes(bytes),
        Oracle::List(list) => {
            writer.begin_list();
            list.iter().for_each(|tree| write(tree, writer));
            writer.end();
        }
        Oracle::Dict(dict) => {
            writer.begin_dict();
            for (key, tree) in dict {
                writer.bytes(key);
                write(tree, writer);
            }
            writer.end();
        }
    }
}

fn owned(value: Value<'_>) -> Oracle<'static> {
    match value {
        Value::Integer(integer) => Oracle::Integer(integer),
        Value::Bytes(bytes) => Oracle::Bytes(Cow::Owned(bytes.to_vec())),
        Value::List(list) => Oracle::List(list.map(owned).collect()),
        Value::Dict(dict) => {
            let mut entries = BTreeMap::new();
            for (key, value) in dict {
                entries.insert(Cow::Owned(key.to_vec()), owned(value));
            }
            Oracle::Dict(entries)
        }
    }
}
