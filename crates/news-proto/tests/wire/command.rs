//! Commands as a client writes them and a server reads them.

use proptest::prelude::*;
use weir_news_proto::Command;

use crate::strategies;

proptest! {
    #[test]
    fn written_command_is_read_as_it_was(command in strategies::command()) {
        let mut out = b"before".to_vec();
        command.write(&mut out).expect("short enough");
        prop_assert!(out.starts_with(b"before") && out.ends_with(b"\r\n"));
        prop_assert_eq!(Command::parse(&out[6..]), Ok(command));
    }

    #[test]
    fn case_of_the_verb_does_not_matter(command in strategies::command()) {
        let mut out = Vec::new();
        command.write(&mut out).expect("short enough");
        let end = out.iter().position(|byte| matches!(byte, b' ' | b'\r')).expect("an end");
        out[..end].make_ascii_lowercase();
        prop_assert_eq!(Command::parse(&out), Ok(command));
    }

    #[test]
    fn any_line_is_a_command_or_has_a_code(line in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Err(error) = Command::parse(&line) {
            prop_assert!((500..=504).contains(&error.code()));
        }
    }
}
