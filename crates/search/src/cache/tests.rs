//! What is kept, what goes first, and a file that cannot be used.

use super::*;

fn sample(title: &str, at: i64) -> (Arc<IndexerAnswer>, RawAnswer) {
    let body = format!(
        "<rss><channel><item><title>{title}</title><guid>1</guid>\
         <enclosure url=\"http://a.example/1\" length=\"1\" type=\"application/x-bittorrent\"/>\
         </item></channel></rss>"
    );
    let releases = read_feed(body.as_bytes(), None).unwrap().releases;
    assert_eq!(releases.len(), 1);
    let sent = RawAnswer {
        indexer: "one".into(),
        at,
        charset: None,
        body: body.into(),
    };
    (Arc::new(IndexerAnswer::new(releases, at)), sent)
}

fn open(directory: &std::path::Path, limit: u64, memory: usize) -> Cache {
    Cache::open(Some(directory.join("search.db")), limit, memory, 1 << 20)
}

#[tokio::test]
async fn an_answer_outlives_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let cache = open(directory.path(), 1 << 20, 1 << 20);
    let (answer, sent) = sample("first", 7);
    cache.put([1; 16], &answer, sent);
    cache.close();
    let cache = open(directory.path(), 1 << 20, 1 << 20);
    let found = cache.answer(&[1; 16], |_| {}).await.unwrap();
    assert_eq!((found.at, found.releases.len()), (7, 1));
    assert_eq!(found.releases[0].title, "first");
    assert!(cache.answer(&[2; 16], |_| {}).await.is_none());
}

#[tokio::test]
async fn memory_and_file_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let cache = open(directory.path(), 20_000, 50_000);
    for number in 0..1000_u64 {
        let (answer, sent) = sample(&format!("release number {number}"), number as i64);
        let mut key = [0; 16];
        key[..8].copy_from_slice(&number.to_le_bytes());
        cache.put(key, &answer, sent);
    }
    let (parts, weight) = cache.in_memory();
    assert!(weight <= 50_000 && parts > 10, "{parts} {weight}");
    cache.close();
    let cache = open(directory.path(), 20_000, 50_000);
    let size = size(&cache, "search_part");
    assert!(size > 5_000 && size <= 20_000, "{size}");
    let mut newest = [0; 16];
    newest[..8].copy_from_slice(&999_u64.to_le_bytes());
    assert!(cache.answer(&newest, |_| {}).await.is_some());
}

fn size(cache: &Cache, table: &str) -> i64 {
    let sql = format!("SELECT COALESCE(SUM(size), 0) FROM {table}");
    let size = cache
        .file
        .read(|connection| connection.query_row(&sql, [], |row| row.get(0)));
    size.unwrap()
}

#[test]
fn answers_and_files_share_the_room_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let cache = open(directory.path(), 40_000, 50_000);
    let mut noise = blake3::Hasher::new().finalize_xof();
    for number in 0..300_u64 {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&number.to_le_bytes());
        let (answer, sent) = sample(&format!("release number {number}"), number as i64);
        cache.put(key, &answer, sent);
        // What cannot be packed.
        let mut body = vec![0; 500 + 10 * number as usize];
        noise.fill(&mut body);
        cache.put_file(key, number as i64, body.into());
    }
    cache.close();
    let cache = open(directory.path(), 40_000, 50_000);
    let (parts, files) = (size(&cache, "search_part"), size(&cache, "search_file"));
    assert!(parts > 20_000 && files > 5_000, "{parts} {files}");
    assert!(parts + files <= 40_000, "{parts} {files}");
}

#[test]
fn files_have_an_age() {
    let directory = tempfile::tempdir().unwrap();
    let cache = open(directory.path(), 1 << 20, 1 << 20);
    cache.put_file([1; 16], 100, Bytes::from_static(b"d4:infoe"));
    cache.close();
    let cache = open(directory.path(), 1 << 20, 1 << 20);
    assert_eq!(cache.file(&[1; 16], 100).unwrap(), b"d4:infoe"[..]);
    assert!(cache.file(&[1; 16], 101).is_none());
}

fn key(number: u64) -> Digest {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// Fills a file with answers and downloads, and gives its bytes.
fn filled(directory: &std::path::Path) -> Vec<u8> {
    let cache = open(directory, 1 << 30, 0);
    let mut noise = blake3::Hasher::new().finalize_xof();
    for number in 0..200 {
        let (answer, sent) = sample(&format!("release number {number}"), number as i64);
        cache.put(key(number), &answer, sent);
        let mut body = vec![0; 6000];
        noise.fill(&mut body);
        cache.put_file(key(number), number as i64, body.into());
    }
    cache.put_caps("one", "there", 7, &Caps::default());
    cache.close();
    std::fs::read(directory.join("search.db")).unwrap()
}

/// Asks for all there is, and keeps something.
async fn use_it(cache: &Cache) {
    for number in 0..200 {
        cache.answer(&key(number), |_| {}).await;
        cache.file(&key(number), 0);
    }
    cache.caps("one", "there");
    let (answer, sent) = sample("kept afterwards", 9);
    cache.put(key(999), &answer, sent);
    cache.forget_before(5);
    cache.close();
}

#[tokio::test]
async fn a_damaged_file_costs_answers_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let good = filled(directory.path());
    let (path, bad) = (
        directory.path().join("search.db"),
        directory.path().join("search.db.bad"),
    );
    let mut set_aside = 0;
    let pages = good.len() / 4096;
    assert!(pages > 300, "{pages}");
    for page in (0..10).chain((10..pages).step_by(37)).chain([pages - 1]) {
        let mut bytes = good.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0x5A);
        std::fs::write(&path, &bytes).unwrap();
        let _ = std::fs::remove_file(&bad);
        // Found at the start, or else when it is met.
        use_it(&open(directory.path(), 1 << 30, 0)).await;
        set_aside += u32::from(bad.exists());
        let cache = open(directory.path(), 1 << 30, 0);
        let found = cache.answer(&key(999), |_| {}).await;
        assert!(found.is_some() || bad.exists(), "page {page}");
        cache.close();
    }
    assert!(set_aside >= 8, "{set_aside}");
}

#[tokio::test]
async fn a_file_that_is_damaged_while_it_is_open_is_begun_anew() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = filled(directory.path());
    let cache = open(directory.path(), 1 << 30, 0);
    bytes[4096 * 8..].fill(0x5A);
    std::fs::write(directory.path().join("search.db"), &bytes).unwrap();
    for number in 0..200 {
        cache.answer(&key(number), |_| {}).await;
    }
    assert!(directory.path().join("search.db.bad").exists());
    let (answer, sent) = sample("kept afterwards", 9);
    cache.put(key(999), &answer, sent);
    cache.close();
    let cache = open(directory.path(), 1 << 30, 0);
    assert!(cache.answer(&key(999), |_| {}).await.is_some());
    assert!(cache.answer(&key(1), |_| {}).await.is_none());
}

#[tokio::test]
async fn a_file_that_cannot_be_used_leaves_the_memory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("search.db")).unwrap();
    let cache = open(directory.path(), 1 << 20, 1 << 20);
    let (answer, sent) = sample("first", 7);
    cache.put([1; 16], &answer, sent);
    assert!(cache.answer(&[1; 16], |_| {}).await.is_some());
    cache.close();
}
