//! The requests that real programs make, in their order, for one indexer and for all of them; and paging.

use super::*;

/// Both addresses of the same thing: all indexers, and one.
const PLACES: [&str; 2] = ["/torznab/api", "/torznab/a/api"];

/// Two indexers with series and films.
async fn library(network: &Network) -> Vec<Indexer> {
    let mut indexers = Vec::new();
    for number in 0..2_u8 {
        let first = u32::from(number) * 20;
        let films = (first + 10..first + 13).map(|number| Item {
            title: format!("Some.Film.{number}.2020.1080p"),
            category: 2040,
            ..Item::numbered(number)
        });
        let series = (first + 1..first + 4).map(Item::numbered);
        let setup = Setup {
            items: series.chain(films).collect(),
            ..Setup::default()
        };
        indexers.push(indexer(network, number + 1, setup).await);
    }
    indexers
}

/// What is between two words, wherever that is first.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split(after).next().unwrap_or_default()
}

impl World {
    /// A request with the key in its query, as most programs send it.
    pub(super) async fn program(&self, agent: &str, target: &str) -> Reply {
        let target = format!("{target}&apikey={KEY}");
        self.send(&target, &[("user-agent", agent)]).await
    }
}

#[tokio::test(start_paused = true)]
async fn the_address_that_programs_are_told_answers_like_the_one_with_api() {
    let network = Network::new();
    let indexers = library(&network).await;
    let world = World::new(network.ground(), &named(&indexers));
    for query in ["t=caps", "t=search&q=some"] {
        let [told, whole] = ["/torznab", "/torznab/api"].map(|place| format!("{place}?{query}"));
        let [told, whole] = [
            world.program("curl/8.0", &told).await,
            world.program("curl/8.0", &whole).await,
        ];
        assert_eq!(told.status, 200, "{}", told.body);
        let items = |reply: &Reply| reply.body.matches("<item>").count();
        assert_eq!(items(&told), items(&whole), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn sonarrs_and_radarrs_test_passes_on_a_fresh_start_within_ten_seconds() {
    for place in PLACES {
        for (agent, query, element) in [
            (
                "Sonarr/4.0.9.2244 (linux)",
                "t=tvsearch&cat=5030,5040&extended=1&offset=0&limit=100",
                "tv-search",
            ),
            (
                "Radarr/5.11.0.9244 (linux)",
                "t=movie&cat=2030,2040&extended=1&offset=0&limit=100",
                "movie-search",
            ),
        ] {
            let network = Network::new();
            let indexers = library(&network).await;
            for indexer in &indexers {
                indexer.set_all(Behaviour::Slow(2 * SECOND));
            }
            let world = World::new(network.ground(), &named(&indexers));
            let caps = world.program(agent, &format!("{place}?t=caps")).await;
            assert_eq!(caps.status, 200);
            let limits = between(&caps.body, "<limits ", "/>");
            for name in ["default", "max"] {
                let number = between(limits, &format!("{name}=\""), "\"");
                assert!(
                    number.parse::<u32>().is_ok_and(|number| number >= 100),
                    "{limits}"
                );
            }
            let search = between(&caps.body, "<search ", "/>");
            assert!(
                search.contains("available=\"yes\"")
                    && between(search, "supportedParams=\"", "\"")
                        .split(',')
                        .any(|p| p == "q")
            );
            let own = between(&caps.body, &format!("<{element} "), "/>");
            let own = between(own, "supportedParams=\"", "\"");
            let needed = if element == "tv-search" {
                &["q", "season", "ep"][..]
            } else {
                &["q"][..]
            };
            for parameter in needed {
                assert!(own.split(',').any(|other| other == *parameter), "{own}");
            }
            let feed = world.program(agent, &format!("{place}?{query}")).await;
            assert_eq!(feed.status, 200, "{}", feed.body);
            let count = if place == PLACES[0] { 6 } else { 3 };
            assert_eq!(feed.titles().len(), count, "{agent} at {place}");
            assert!(caps.took + feed.took <= 10 * SECOND);
            for item in feed.items() {
                for element in [
                    "<title>",
                    "<guid ",
                    "<pubDate>",
                    "<size>",
                    "<link>",
                    "<enclosure url=",
                    "<category>",
                ] {
                    assert!(item.contains(element), "{element} in {item}");
                }
                assert!(item.contains("type=\"application/x-bittorrent\""), "{item}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sonarr_pages_back_to_what_it_has_seen_without_another_call() {
    let network = Network::new();
    let mut indexers = Vec::new();
    for number in 0..3_u8 {
        // Interleaved in time.
        let numbers = (0..100).map(|item| item * 3 + u32::from(number));
        indexers.push(indexer(&network, number + 1, Setup::with(numbers)).await);
    }
    let world = World::new(network.ground(), &named(&indexers));
    let agent = "Sonarr/4.0.9 (linux)";
    let page = |offset: u32, place: &str| {
        let target =
            format!("{place}?t=tvsearch&cat=5030,5040&extended=1&offset={offset}&limit=100");
        let world = &world;
        async move { world.program(agent, &target).await }
    };
    let mut titles = Vec::new();
    let mut links = Vec::new();
    for (number, offset) in [0, 100, 200, 300].into_iter().enumerate() {
        // The answer to the first page is long past its life when the last is asked for.
        world.until(4 * MINUTE * number as u32).await;
        let reply = page(offset, PLACES[0]).await;
        if number < 3 {
            assert_eq!(reply.response(), (offset.into(), 300), "{offset}");
        }
        titles.extend(reply.titles());
        links.extend(reply.links());
        if number == 2 {
            break;
        }
    }
    let expected: Vec<String> = (0..300)
        .rev()
        .map(|number| Item::numbered(number).title)
        .collect();
    assert_eq!(titles, expected, "newest first, none twice, none missing");
    let calls: usize = indexers
        .iter()
        .map(|indexer| indexer.searches().len())
        .sum();
    assert_eq!(calls, 3);
    // The next sync finds the same links, so it stops at the first page.
    world.until(16 * MINUTE).await;
    let again = page(0, PLACES[0]).await;
    assert_eq!(again.links()[..], links[..100]);
    let one = page(0, PLACES[1]).await;
    assert_eq!((one.titles().len(), one.response()), (100, (0, 100)));
}

#[tokio::test(start_paused = true)]
async fn a_page_of_an_answer_that_nobody_has_is_asked_for() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &named(&indexers));
    let reply = world.get("/torznab/api?t=search&offset=4&limit=100").await;
    assert_eq!((reply.titles().len(), reply.response()), (2, (4, 6)));
    let reply = world.get("/torznab/api?t=search&offset=99").await;
    assert_eq!((reply.status, reply.titles().len()), (200, 0));
    assert_eq!(reply.response(), (99, 6));
}

#[tokio::test(start_paused = true)]
async fn paging_stays_what_it_was_while_new_releases_come() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..named(&indexers)
    };
    let world = World::new(network.ground(), &config);
    let first = world.get("/torznab/api?t=search&limit=2").await;
    assert_eq!(first.response(), (0, 6));
    // One of the two cannot answer any more, the other has something new, and somebody else asks for it.
    indexers[0].set(Behaviour::Status(500, RetryAfter::None));
    indexers[1].add(Item::numbered(99));
    let other = [("user-agent", "Radarr/5")];
    let fresh = world
        .ask("/torznab/api?t=search&limit=2&nocache=1", &other)
        .await;
    assert_eq!(fresh.response(), (0, 7));
    let mut titles = first.titles();
    for offset in [2, 4] {
        let reply = world
            .get(&format!("/torznab/api?t=search&limit=2&offset={offset}"))
            .await;
        assert_eq!(reply.response(), (offset, 6));
        titles.extend(reply.titles());
    }
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), 6);
    let again = world.get("/torznab/api?t=search&limit=2").await;
    assert_eq!(again.response(), (0, 7), "from its first page on it is new");
}

#[tokio::test(start_paused = true)]
async fn a_series_is_searched_by_id_then_by_text_with_sonarr_and_a_film_with_radarr() {
    let network = Network::new();
    let indexers = library(&network).await;
    let world = World::new(network.ground(), &named(&indexers));
    for place in PLACES {
        let sonarr =
            async |query: &str| world.program("Sonarr/4", &format!("{place}?{query}")).await;
        for query in [
            "t=tvsearch&cat=5030,5040&tvdbid=123&season=1&ep=2&extended=1&offset=0&limit=100",
            "t=tvsearch&cat=5030,5040&tvdbid=123&season=1&extended=1&offset=0&limit=100",
            "t=tvsearch&cat=5030,5040&tvdbid=123&season=2024&ep=02/29&extended=1&offset=0&limit=100",
            "t=search&cat=5030,5040&q=Some%20Show%2001&extended=1&offset=0&limit=100",
        ] {
            let reply = sonarr(query).await;
            assert_eq!(reply.status, 200, "{query}: {}", reply.body);
            assert!(reply.took <= 15 * SECOND, "{query}: {:?}", reply.took);
            world.until(world.time() + MINUTE).await;
        }
        let radarr =
            async |query: &str| world.program("Radarr/5", &format!("{place}?{query}")).await;
        for query in [
            "t=movie&cat=2030,2040&imdbid=0000123&extended=1&offset=0&limit=100",
            "t=search&cat=2030,2040&q=Some%20Film%202020&extended=1&offset=0&limit=100",
        ] {
            let reply = radarr(query).await;
            assert_eq!(reply.status, 200, "{query}: {}", reply.body);
            assert!(!reply.titles().is_empty(), "{query}: {}", reply.body);
            world.until(world.time() + MINUTE).await;
        }
    }
    let asked = indexers[0].searches();
    let daily = asked
        .iter()
        .find(|asked| asked.value("season") == Some("2024"));
    assert_eq!(daily.and_then(|daily| daily.value("ep")), Some("02%2F29"));
    // What all and one were asked is the same question: one call each.
    assert_eq!(asked.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn cross_seed_pages_by_the_limit_that_it_was_told() {
    let network = Network::new();
    let indexers = library(&network).await;
    let world = World::new(network.ground(), &named(&indexers));
    let agent = "CrossSeed/7.0.0";
    for place in PLACES {
        let caps = world.program(agent, &format!("{place}?t=caps")).await;
        let limits = between(&caps.body, "<limits ", "/>");
        let most: usize = between(limits, "max=\"", "\"").parse().expect("a number");
        for word in ["Movies", "TV"] {
            assert!(
                caps.body.contains(&format!("name=\"{word}\"")),
                "{}",
                caps.body
            );
        }
        let mut all = Vec::new();
        for page in 0..10 {
            let offset = page * most;
            let target = format!("{place}?t=search&q=&limit={most}&offset={offset}");
            let reply = world.program(agent, &target).await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            if reply.titles().is_empty() {
                break;
            }
            all.extend(reply.titles());
        }
        assert_eq!(all.len(), if place == PLACES[0] { 12 } else { 6 });
        let target = format!("{place}?t=tvsearch&q=Some+Show&season=1&ep=1");
        let reply = world.program(agent, &target).await;
        assert_eq!(
            reply.status,
            if place == PLACES[0] { 429 } else { 200 },
            "background waits: {}",
            reply.body
        );
        if reply.status == 429 {
            let seconds = reply.retry_after.expect("always a number");
            assert!(
                seconds.parse::<u64>().is_ok_and(|seconds| seconds > 0),
                "{seconds}"
            );
        }
        world.until(world.time() + 2 * MINUTE).await;
        let reply = world.program(agent, &target).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        // Candidates are fetched without a key.
        let feed = world.program(agent, &format!("{place}?t=search&q=")).await;
        let link = feed.links()[0].replace("http://weir:7070", "");
        let file = world.send(&link, &[("user-agent", agent)]).await;
        assert_eq!(file.status, 200, "{}", file.body);
    }
}

#[tokio::test(start_paused = true)]
async fn flexget_sends_words_and_ids_together() {
    let network = Network::new();
    let indexers = library(&network).await;
    let world = World::new(network.ground(), &named(&indexers));
    for place in PLACES {
        let agent = "FlexGet/3.11.30 (www.flexget.com)";
        let caps = world
            .program(agent, &format!("{place}?extended=1&t=caps"))
            .await;
        for element in [
            "search",
            "tv-search",
            "movie-search",
            "music-search",
            "book-search",
        ] {
            let attributes = between(&caps.body, &format!("<{element} "), "/>");
            assert!(attributes.contains("supportedParams="), "{attributes}");
        }
        let query = "extended=1&t=tvsearch&cat=5000&tvdbid=123&season=1&ep=1&q=Some+Show";
        let reply = world.program(agent, &format!("{place}?{query}")).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(!reply.titles().is_empty());
        assert!(
            reply
                .items()
                .iter()
                .all(|item| item.contains("<enclosure url="))
        );
    }
    let asked = &indexers[0].searches()[0];
    assert_eq!(
        (asked.value("tvdbid"), asked.value("q")),
        (Some("123"), Some("Some%20Show"))
    );
}

#[tokio::test(start_paused = true)]
async fn autobrr_sends_its_key_in_a_header_and_asks_for_caps_without_one() {
    let network = Network::new();
    let indexers = library(&network).await;
    let world = World::new(network.ground(), &named(&indexers));
    for place in PLACES {
        let agent = ("user-agent", "autobrr");
        let caps = world.send(&format!("{place}?t=caps"), &[agent]).await;
        assert_eq!(caps.status, 200);
        let feed = format!("{place}?t=search");
        let reply = world.send(&feed, &[agent, ("x-api-key", KEY)]).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(reply.took < 20 * SECOND);
        let refused = world.send(&feed, &[agent]).await;
        assert_eq!(refused.status, 401);
        assert!(
            refused.body.contains("<error code=\"100\""),
            "{}",
            refused.body
        );
        let wrong = world.send(&feed, &[agent, ("x-api-key", "wrong")]).await;
        assert_eq!(wrong.status, 401);
        assert!(wrong.body.contains("<error code=\"100\""), "{}", wrong.body);
    }
}

#[tokio::test(start_paused = true)]
async fn an_indexers_own_categories_are_offered_where_it_stands_alone() {
    let network = Network::new();
    let mut indexers = crowd(&network, 1).await;
    let comics = Item {
        category: 100_007,
        ..Item::numbered(77)
    };
    let caps = Caps {
        categories: vec![(5000, "TV", vec![]), (100_007, "Comics", vec![])],
        ..Caps::default()
    };
    let setup = Setup {
        items: vec![comics, Item::numbered(78)],
        caps,
        ..Setup::default()
    };
    indexers.push(indexer(&network, 2, setup).await);
    let world = World::new(network.ground(), &named(&indexers));
    let own = "<category id=\"100007\" name=\"Comics\"";
    let alone = world.get("/torznab/b/api?t=caps").await.body;
    assert!(alone.contains(own), "{alone}");
    let merged = world.get("/torznab/api?t=caps").await.body;
    assert!(!merged.contains(own), "{merged}");
    let reply = world.get("/torznab/b/api?t=search&cat=100007").await;
    assert_eq!(reply.titles(), ["Some.Show.S01E77.1080p"]);
}

#[tokio::test(start_paused = true)]
async fn who_is_there_is_for_those_with_a_key() {
    let network = Network::new();
    let indexers = library(&network).await;
    let world = World::new(network.ground(), &named(&indexers));
    for list in [
        "/prowlarr/api/v1/system/status",
        "/prowlarr/api/v1/indexer",
        "/prowlarr/api/v1/indexer/1",
        "/jackett/api/v2.0/indexers",
    ] {
        let refused = world.send(&format!("{list}?t=caps"), &[]).await;
        assert_eq!(refused.status, 401, "{list}: {}", refused.body);
        assert_eq!(world.get(list).await.status, 200, "{list}");
        let with_key = format!("{list}?apikey={KEY}");
        assert_eq!(world.send(&with_key, &[]).await.status, 200, "{list}");
    }
    let reply = world.get("/torznab/zzz/api?t=caps").await;
    assert_eq!(reply.status, 404);
    assert!(reply.body.contains("There are: a, b."), "{}", reply.body);
    assert_eq!(reply.retry_after.as_deref(), Some("300"), "not at once");
}

#[tokio::test(start_paused = true)]
async fn qui_finds_our_indexers_as_prowlarrs_and_as_jacketts() {
    let network = Network::new();
    let indexers = library(&network).await;
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    let list = world.get("/prowlarr/api/v1/indexer").await;
    let list: serde_json::Value = serde_json::from_str(&list.body).expect("JSON");
    let list = list.as_array().expect("a list");
    assert_eq!(list.len(), 2);
    for entry in list {
        let (id, name) = (&entry["id"], entry["name"].as_str().expect("a name"));
        assert_eq!(entry["protocol"], "torrent");
        assert_eq!(
            entry["capabilities"]["categories"][0]["id"], 2000,
            "{entry}"
        );
        let one = world.get(&format!("/prowlarr/api/v1/indexer/{id}")).await;
        let one: serde_json::Value = serde_json::from_str(&one.body).expect("JSON");
        assert_eq!(one["name"], name);
        for base in [
            format!("/prowlarr/api/v1/indexer/{id}/newznab"),
            format!("/prowlarr/{id}/api"),
        ] {
            let caps = world.get(&format!("{base}?t=caps")).await;
            assert!(caps.body.contains("<caps>"), "{}", caps.body);
            let feed = world.get(&format!("{base}?t=search&limit=100")).await;
            assert_eq!(
                (feed.status, feed.titles().len()),
                (200, 6),
                "{}",
                feed.body
            );
        }
    }
    assert_eq!(world.get("/prowlarr/api/v1/indexer/99").await.status, 404);
    let all = "/jackett/api/v2.0/indexers/all/results/torznab/api";
    let listed = world
        .get(&format!("{all}?t=indexers&configured=true"))
        .await;
    for name in ["a", "b"] {
        assert!(
            listed
                .body
                .contains(&format!("<indexer id=\"{name}\" configured=\"true\"")),
            "{}",
            listed.body
        );
        let feed = format!("/jackett/api/v2.0/indexers/{name}/results/torznab/api?t=search");
        assert_eq!(world.get(&feed).await.titles().len(), 6);
    }
    assert!(listed.body.contains("<tv-search"), "{}", listed.body);
    let none = world
        .get(&format!("{all}?t=indexers&configured=false"))
        .await;
    assert!(
        !none.body.contains("<indexer "),
        "all are configured: {}",
        none.body
    );
    let feed = world.get(&format!("{all}?t=search")).await;
    assert_eq!(feed.titles().len(), 12);
    let calls: Vec<usize> = indexers
        .iter()
        .map(|indexer| indexer.searches().len())
        .collect();
    assert_eq!(calls, [1, 1], "by whatever address it is asked");
}

#[tokio::test(start_paused = true)]
async fn tags_share_an_address_and_what_is_not_there_is_said() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let mut config = named(&indexers);
    config.indexers[0].tags = vec!["anime".to_owned()];
    config.indexers[2].tags = vec!["anime".to_owned(), "private".to_owned()];
    let world = World::new(network.ground(), &config);
    let reply = world.get("/torznab/tag/anime/api?t=search").await;
    assert_eq!(reply.titles().len(), 6);
    assert_eq!(indexers[1].asked().len(), 0);
    for (target, words) in [
        (
            "/torznab/tag/none/api?t=search",
            "No indexer here has the tag",
        ),
        ("/torznab/none/api?t=search", "There are: a, b, c."),
        ("/newznab/a/api?t=search", "a is asked at /torznab/a/api."),
    ] {
        let reply = world.get(target).await;
        assert_eq!(reply.status, 404);
        assert!(reply.body.contains(words), "{}", reply.body);
    }
    let register = world.get("/torznab/api?t=register").await;
    assert!(
        register.body.contains("<error code=\"203\""),
        "{}",
        register.body
    );
}

#[tokio::test(start_paused = true)]
async fn a_release_of_several_indexers_is_one_item_with_all_its_sources() {
    let network = Network::new();
    let indexers = [
        indexer(&network, 1, Setup::with(1..4)).await,
        indexer(&network, 2, Setup::with(2..5)).await,
    ];
    let world = World::new(network.ground(), &named(&indexers));
    let reply = world.get("/torznab/api?t=search").await;
    assert_eq!(reply.titles().len(), 4, "{}", reply.body);
    let shared = reply
        .items()
        .iter()
        .filter(|item| item.contains("<weir:also>b</weir:also>"))
        .count();
    assert_eq!(shared, 2, "{}", reply.body);
    let json = world.get("/torznab/api?t=search&o=json").await;
    assert!(serde_json::from_str::<serde_json::Value>(&json.body).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_file_comes_from_the_indexer_itself_where_an_operator_wants_that() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.indexers[0].download = entries::Download::Redirect;
    let world = World::new(network.ground(), &config);
    let feed = world.get("/torznab/api?t=search").await;
    let link = feed.links()[0].replace("http://weir:7070", "");
    let given = world.send(&link, &[]).await;
    let there = format!("http://{}/file/3", indexers[0].address());
    assert_eq!((given.status, given.location), (302, Some(there)));
    assert_eq!(indexers[0].grabs().len(), 0);
}
