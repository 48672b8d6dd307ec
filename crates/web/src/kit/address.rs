//! Addresses of other views of the same page: they hold what the reader chose, and nothing else.

use percent_encoding::utf8_percent_encode;
use weir_config::ENCODED;

/// The address of a page: `kept` is what it holds now, in the order in which it is written, and `changes` replaces some of
/// that. Empty values are left out, so that the default view has one address.
pub fn address(path: &str, kept: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    let mut address = path.to_owned();
    let mut mark = '?';
    for (name, value) in kept {
        let change = changes.iter().find(|(changed, _)| changed == name);
        let value = change.map_or(*value, |(_, value)| *value);
        if !value.is_empty() {
            address.push(mark);
            address.push_str(name);
            address.push('=');
            address.extend(utf8_percent_encode(value, ENCODED));
            mark = '&';
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_in_the_address_and_nothing_else_is() {
        let kept = [("q", "a&b c"), ("sort", ""), ("page", "3")];
        assert_eq!(address("/x", &kept, &[]), "/x?q=a%26b%20c&page=3");
        let changes = [("page", ""), ("sort", "-name")];
        assert_eq!(address("/x", &kept, &changes), "/x?q=a%26b%20c&sort=-name");
        assert_eq!(address("/x", &[("q", "")], &[]), "/x");
    }
}
