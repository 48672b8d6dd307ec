//! What a browser calls itself, in words: `Firefox on Linux`.

/// Characters of a program's own name that are shown.
const NAME: usize = 40;

/// Browsers by a word that only they use; those that also use another's word come before it.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Systems likewise.
const SYSTEMS: [(&str, &str); 8] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("FreeBSD", "FreeBSD"),
    ("Linux", "Linux"),
];

/// The browser and its system, as far as they can be told.
pub(super) fn browser(agent: &str) -> String {
    let find = |words: &[(&str, &'static str)]| {
        let found = words.iter().find(|(word, _)| agent.contains(word));
        found.map(|(_, name)| *name)
    };
    if !agent.starts_with("Mozilla/") {
        let product = agent.split(['/', ' ', '(', ';']).next().unwrap_or_default();
        let name = product.chars().filter(|letter| !letter.is_control());
        let name: String = name.take(NAME).collect();
        return if name.is_empty() {
            "unnamed".into()
        } else {
            name
        };
    }
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, Some(system)) => format!("A browser on {system}"),
        (None, None) => "A browser".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_named_as_people_know_them() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
        let iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1";
        for (agent, words) in [
            (chrome, "Chrome on Linux"),
            (iphone, "Safari on iPhone"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Windows",
            ),
            (&format!("{chrome} Edg/141.0.0.0"), "Edge on Linux"),
            ("Mozilla/5.0", "A browser"),
            ("curl/8.5.0", "curl"),
            ("", "unnamed"),
            ("\u{1b}[31mred", "[31mred"),
        ] {
            assert_eq!(browser(agent), words, "{agent}");
        }
        assert_eq!(browser(&"x".repeat(500)).len(), NAME);
    }
}
