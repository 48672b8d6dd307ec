//! Who is locked out by wrong keys, and who is not.

use axum::http::{Method, StatusCode};
use weir_web::{Config, Refusal};

use crate::support::{KEY, Rig, rig, rig_with};

const FEED: &str = "/feed?apikey=";
const SONARR: &[(&str, &str)] = &[
    ("host", "weir:7070"),
    ("user-agent", "Sonarr/4.0.9 (linux)"),
];
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// Requests that another site can make a browser send.
const FOREIGN: [&[(&str, &str)]; 5] = [
    &[
        ("host", "weir:7070"),
        ("user-agent", BROWSER),
        ("sec-fetch-site", "cross-site"),
    ],
    &[
        ("host", "weir:7070"),
        ("user-agent", BROWSER),
        ("sec-fetch-site", "same-site"),
    ],
    &[
        ("host", "weir:7070"),
        ("user-agent", BROWSER),
        ("origin", "https://evil.example"),
    ],
    &[
        ("host", "weir:7070"),
        ("user-agent", BROWSER),
        ("referer", "http://evil.example/page"),
    ],
    // By plain http, from `<img referrerpolicy="no-referrer">`.
    &[("host", "weir:7070"), ("user-agent", BROWSER)],
];

async fn get(rig: &Rig, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut visitor = rig.visitor();
    let reply = visitor.ask(Method::GET, path, headers, None).await;
    reply.status.as_u16()
}

async fn send_wrong_keys(rig: &Rig, headers: &[(&str, &str)]) {
    for number in 0..5 {
        let status = get(rig, &format!("{FEED}wrong-{number}"), headers).await;
        assert_eq!(status, 401, "{headers:?}");
    }
}

#[tokio::test]
async fn wrong_keys_of_a_program_shut_out_that_address() {
    let rig = rig();
    send_wrong_keys(&rig, SONARR).await;
    assert_eq!(get(&rig, &format!("{FEED}wrong"), SONARR).await, 429);
    assert_eq!(get(&rig, &format!("{FEED}{KEY}"), SONARR).await, 429);
}

#[tokio::test]
async fn wrong_keys_that_another_site_made_a_browser_send_shut_out_no_program() {
    for foreign in FOREIGN {
        let rig = rig();
        send_wrong_keys(&rig, foreign).await;
        let wrong_link = get(&rig, "/sign-in?link=wrong", foreign).await;
        assert_eq!(wrong_link, 429, "{foreign:?}");
        assert_eq!(
            get(&rig, &format!("{FEED}{KEY}"), SONARR).await,
            200,
            "{foreign:?}"
        );
        let form = rig.visitor().sign_in(KEY).await;
        assert_eq!(form.status, StatusCode::SEE_OTHER, "{foreign:?}");
        send_wrong_keys(&rig, SONARR).await;
        assert_eq!(
            get(&rig, &format!("{FEED}{KEY}"), SONARR).await,
            429,
            "{foreign:?}"
        );
    }
}

#[tokio::test]
async fn wrong_links_that_another_site_made_a_browser_open_shut_out_no_program() {
    let rig = rig();
    for _ in 0..6 {
        get(&rig, "/sign-in?link=wrong", FOREIGN[0]).await;
    }
    assert_eq!(get(&rig, &format!("{FEED}{KEY}"), SONARR).await, 200);
}

#[tokio::test]
async fn a_guesser_who_claims_to_come_from_another_site_has_five_tries_too() {
    let rig = rig();
    send_wrong_keys(&rig, FOREIGN[0]).await;
    assert_eq!(get(&rig, &format!("{FEED}{KEY}"), FOREIGN[0]).await, 429);
}

#[tokio::test]
async fn a_key_that_weir_made_passes_while_its_address_is_shut_out() {
    let rig = rig_with(Config::default());
    let key = rig.app.key_was_made().unwrap().expose().to_owned();
    send_wrong_keys(&rig, SONARR).await;
    assert_eq!(get(&rig, &format!("{FEED}wrong"), SONARR).await, 429);
    assert_eq!(get(&rig, &format!("{FEED}{key}"), SONARR).await, 200);
    let by_header = [SONARR[0], SONARR[1], ("x-api-key", key.as_str())];
    assert_eq!(get(&rig, "/api/v1/sample", &by_header).await, 200);
    let form = rig.visitor().sign_in(&key).await;
    assert_eq!(form.status, StatusCode::SEE_OTHER);
    let wrong = rig.visitor().sign_in("wrong").await;
    assert_eq!(wrong.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_sign_in_link_works_while_its_address_is_shut_out() {
    let rig = rig();
    send_wrong_keys(&rig, SONARR).await;
    assert_eq!(get(&rig, "/sign-in?link=wrong", SONARR).await, 429);
    let link = rig.app.sign_in_link().unwrap();
    assert_eq!(get(&rig, &link, SONARR).await, 303);
}

#[tokio::test]
async fn the_operators_key_is_not_weirs_even_after_weir_made_one() {
    let made = rig_with(Config::default());
    let own = made.restarted(crate::support::config());
    send_wrong_keys(&own, SONARR).await;
    assert_eq!(get(&own, &format!("{FEED}{KEY}"), SONARR).await, 429);
}

#[tokio::test]
async fn wrong_keys_count_together_whichever_listener_gets_them() {
    let rig = rig();
    let porter = rig.app.porter();
    let client = porter.client("203.0.113.5".parse().unwrap());
    assert!(!client.near());
    for _ in 0..5 {
        assert_eq!(porter.key("wrong", &client).err(), Some(Refusal::WrongKey));
    }
    let refused = porter.key(KEY, &client).err();
    assert!(
        matches!(refused, Some(Refusal::Throttled { .. })),
        "{refused:?}"
    );
    let mut visitor = rig.visitor_from("203.0.113.5");
    let path = format!("{FEED}{KEY}");
    let reply = visitor.ask(Method::GET, &path, SONARR, None).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    let elsewhere = porter.client("203.0.113.6".parse().unwrap());
    assert!(porter.key(KEY, &elsewhere).is_ok());
}
