use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use futures_util::FutureExt;
use tempfile::TempDir;
use test_case::test_case;

use super::*;

/// Says to a test that it is the other process, and where the store is.
const FOLDER: &str = "ONCEWIRE_TEST_FOLDER";

fn store() -> (TempDir, FileStore) {
    let place = tempfile::tempdir().unwrap();
    let store = FileStore::new(place.path().join("a").join("logins"));
    (place, store)
}

/// This test again, in a process of its own, which finds the folder in its environment.
fn again(test: &str, folder: &Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &format!("oauth::store::file::tests::{test}"), "--nocapture"]);
    command.env(FOLDER, folder).stdout(Stdio::piped()).spawn().unwrap()
}

/// The store that this process is to use, if it is the other one.
fn given() -> Option<FileStore> {
    env::var_os(FOLDER).map(FileStore::new)
}

/// Says it to the process that waits for it. The test harness writes before it on the same line.
fn say(word: &str) {
    println!("\n{word}");
}

fn wait_for(word: &str, child: &mut Child) {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == word), "the other process never said {word:?}");
}

fn kind<T: fmt::Debug>(result: Result<T, StoreError>) -> StoreErrorKind {
    result.unwrap_err().kind()
}

#[tokio::test]
async fn a_value_is_kept_replaced_and_removed() {
    let (_place, store) = store();
    assert_eq!(store.load("a").await, Ok(None));
    store.save("a", None).await.unwrap();
    store.save("a", Some("1")).await.unwrap();
    store.save("b", Some("ä")).await.unwrap();
    store.save("a", Some("3")).await.unwrap();
    let another = FileStore::new(store.folder());
    assert_eq!(another.load("a").await, Ok(Some("3".to_owned())));
    another.save("a", None).await.unwrap();
    assert_eq!((store.load("a").await, store.load("b").await), (Ok(None), Ok(Some("ä".to_owned()))));
}

#[tokio::test]
async fn a_key_of_any_kind_is_a_name_that_says_nothing() {
    let (_place, store) = store();
    let long = "x".repeat(10_000);
    for key in ["", "../../etc/passwd", "https://a.example/mcp?account=me", &long] {
        store.save(key, Some("1")).await.unwrap();
    }
    let names: Vec<_> = fs::read_dir(store.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4);
    for name in names {
        let name = name.into_string().unwrap();
        let (stem, ending) = name.split_once('.').unwrap();
        assert_eq!((stem.len(), ending), (32, "json"));
        assert!(stem.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    }
}

#[test_case(b"", StoreErrorKind::Corrupt; "empty")]
#[test_case(b"\xff\xfe", StoreErrorKind::Corrupt; "no text")]
#[tokio::test]
async fn what_is_no_login(content: &[u8], expected: StoreErrorKind) {
    let (_place, store) = store();
    store.save("a", Some("1")).await.unwrap();
    fs::write(store.path("a", ".json"), content).unwrap();
    assert_eq!(kind(store.load("a").await), expected);
    // It is in nobody's way.
    store.save("a", Some("2")).await.unwrap();
    assert_eq!(store.load("a").await, Ok(Some("2".to_owned())));
}

#[tokio::test]
async fn the_size_of_a_value_is_bounded() {
    let (_place, store) = store();
    let largest = "x".repeat(usize::try_from(LARGEST).unwrap());
    store.save("a", Some(&largest)).await.unwrap();
    assert_eq!(kind(store.save("a", Some(&format!("{largest}x"))).await), StoreErrorKind::TooLarge);
    assert_eq!(store.load("a").await, Ok(Some(largest.clone())));
    fs::write(store.path("a", ".json"), format!("{largest}x")).unwrap();
    assert_eq!(kind(store.load("a").await), StoreErrorKind::Corrupt);
}

#[tokio::test]
async fn where_no_folder_can_be_the_store_is_unavailable() {
    let (place, store) = store();
    fs::write(place.path().join("a"), "a file in its place").unwrap();
    for result in [store.save("a", Some("secret")).await, store.lock("a").await] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test_case(ErrorKind::StorageFull, StoreErrorKind::Full)]
#[test_case(ErrorKind::QuotaExceeded, StoreErrorKind::Full)]
#[test_case(ErrorKind::PermissionDenied, StoreErrorKind::Permission)]
#[test_case(ErrorKind::ReadOnlyFilesystem, StoreErrorKind::Permission)]
#[test_case(ErrorKind::Unsupported, StoreErrorKind::Unavailable)]
#[test_case(ErrorKind::Interrupted, StoreErrorKind::Other)]
fn what_the_system_says(error: ErrorKind, expected: StoreErrorKind) {
    assert_eq!(StoreError::of_io("writing", &error.into()).kind(), expected);
}

#[tokio::test]
async fn what_a_killed_writer_left_behind_goes_after_a_while() {
    let (_place, store) = store();
    store.save("a", Some("1")).await.unwrap();
    let leave = |name: &str, age: Duration| {
        let path = store.folder().join(name);
        let file = File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        path
    };
    let old = leave("old.tmp", LEFT_BEHIND * 2);
    let young = leave("young.tmp", LEFT_BEHIND / 2);
    let other = leave("other", LEFT_BEHIND * 2);
    store.save("a", Some("2")).await.unwrap();
    assert_eq!([old.exists(), young.exists(), other.exists()], [false, true, true]);
}

#[tokio::test]
async fn a_writer_that_goes_away_takes_nothing_back() {
    let (_place, store) = store();
    store.save("a", Some("1")).await.unwrap();
    let mut save = store.save("a", Some("2"));
    let _ = (&mut save).now_or_never();
    drop(save);
    // What was handed over runs to its end, and the runtime waits for it.
    loop {
        if store.load("a").await == Ok(Some("2".to_owned())) {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_holder_at_a_time_and_each_key_for_itself() {
    let (_place, store) = store();
    let another = FileStore::new(store.folder()).lock_patience(Duration::ZERO);
    store.lock("a").await.unwrap();
    another.lock("b").await.unwrap();
    assert_eq!(kind(another.lock("a").await), StoreErrorKind::Busy);
    // In one process, and of one store, too.
    let same = store.lock("a");
    let (same, ()) = tokio::join!(same, async { store.unlock("a").await.unwrap() });
    same.unwrap();
    assert_eq!(kind(another.lock("a").await), StoreErrorKind::Busy);
    store.unlock("a").await.unwrap();
    another.lock("a").await.unwrap();
    another.unlock("never held").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_bounded() {
    let (_place, store) = store();
    store.lock("a").await.unwrap();
    let another = FileStore::new(store.folder());
    let begin = tokio::time::Instant::now();
    assert_eq!(kind(another.lock("a").await), StoreErrorKind::Busy);
    let waited = begin.elapsed();
    assert!(waited >= LOCK_PATIENCE && waited < LOCK_PATIENCE + Duration::from_secs(1), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_gives_up_leaves_no_lock_behind() {
    let (_place, store) = store();
    store.lock("a").await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_secs(1), FileStore::new(store.folder()).lock("a").boxed()).await;
    assert!(waiting.is_err());
    // This one is dropped while a try is under way, and the lock is free by then.
    let another = FileStore::new(store.folder());
    let mut late = another.lock("a");
    store.unlock("a").await.unwrap();
    let taken = (&mut late).now_or_never();
    drop(late);
    // It may have been that fast.
    if let Some(taken) = taken {
        taken.unwrap();
        another.unlock("a").await.unwrap();
    }
    FileStore::new(store.folder()).lock("a").await.unwrap();
}

#[tokio::test]
async fn a_store_that_goes_away_gives_its_locks_back() {
    let (_place, store) = store();
    let folder = store.folder().to_owned();
    store.lock("a").await.unwrap();
    drop(store);
    FileStore::new(folder).lock_patience(Duration::ZERO).lock("a").await.unwrap();
}

#[tokio::test]
async fn a_killed_process_frees_its_lock() {
    if let Some(store) = given() {
        store.lock("a").await.unwrap();
        say("locked");
        std::future::pending::<()>().await;
    }
    let (_place, store) = store();
    let mut child = again("a_killed_process_frees_its_lock", store.folder());
    wait_for("locked", &mut child);
    let impatient = FileStore::new(store.folder()).lock_patience(Duration::ZERO);
    assert_eq!(kind(impatient.lock("a").await), StoreErrorKind::Busy);
    child.kill().unwrap();
    child.wait().unwrap();
    impatient.lock("a").await.unwrap();
}

#[tokio::test]
async fn processes_exclude_each_other() {
    let count = |text: Option<String>| text.map_or(0, |text| text.parse::<u32>().unwrap());
    if let Some(store) = given() {
        for _ in 0..25 {
            store.lock("a").await.unwrap();
            let before = count(store.load("a").await.unwrap());
            store.save("a", Some(&(before + 1).to_string())).await.unwrap();
            store.unlock("a").await.unwrap();
        }
        return;
    }
    let (_place, store) = store();
    let children: Vec<_> = (0..4).map(|_| again("processes_exclude_each_other", store.folder())).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(store.load("a").await, Ok(Some("100".to_owned())));
}

#[tokio::test]
async fn a_writer_that_is_killed_leaves_a_whole_value() {
    let value = |letter: char| letter.to_string().repeat(100_000);
    if let Some(store) = given() {
        say("writing");
        for letter in ['a', 'b'].into_iter().cycle() {
            store.save("a", Some(&value(letter))).await.unwrap();
        }
    }
    let (_place, store) = store();
    store.save("a", Some(&value('a'))).await.unwrap();
    for round in 0..10 {
        let mut child = again("a_writer_that_is_killed_leaves_a_whole_value", store.folder());
        wait_for("writing", &mut child);
        // So many reads beside it, and the kill comes at another moment each time.
        for _ in 0..=round * 3 {
            let read = store.load("a").await.unwrap().unwrap();
            assert!(read == value('a') || read == value('b'));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let read = store.load("a").await.unwrap().unwrap();
        assert!(read == value('a') || read == value('b'));
    }
}

#[test]
fn the_folder_of_the_user() {
    const ROLE: &str = "ONCEWIRE_TEST_ROLE";
    if env::var_os(ROLE).is_some() {
        say(&FileStore::of_user().unwrap().folder().display().to_string());
        return;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "oauth::store::file::tests::the_folder_of_the_user", "--nocapture"]);
    command.env(ROLE, "1").env("HOME", "/home/somebody").env("LOCALAPPDATA", "/home/somebody/local");
    let said = |command: &mut Command| String::from_utf8(command.output().unwrap().stdout).unwrap();
    let by_default = said(command.env_remove("XDG_STATE_HOME"));
    let expected = match env::consts::OS {
        "macos" => "/home/somebody/Library/Application Support/oncewire/logins",
        "windows" => "/home/somebody/local\\oncewire\\logins",
        _ => "/home/somebody/.local/state/oncewire/logins",
    };
    assert!(by_default.lines().any(|line| line == expected), "{by_default}");
    if cfg!(all(unix, not(target_os = "macos"))) {
        let set = said(command.env("XDG_STATE_HOME", "/state"));
        assert!(set.lines().any(|line| line == "/state/oncewire/logins"), "{set}");
    }
}

#[cfg(unix)]
mod of_the_owner {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[tokio::test]
    async fn nobody_else_can_read_or_write() {
        let (_place, store) = store();
        store.lock("a").await.unwrap();
        store.save("a", Some("1")).await.unwrap();
        assert_eq!(mode(store.folder()), 0o700);
        assert_eq!((mode(&store.path("a", ".json")), mode(&store.path("a", ".lock"))), (0o600, 0o600));
    }

    #[tokio::test]
    async fn what_others_can_read_is_taken_from_them() {
        let (_place, store) = store();
        store.save("a", Some("1")).await.unwrap();
        let path = store.path("a", ".json");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(store.folder(), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(store.load("a").await, Ok(Some("1".to_owned())));
        assert_eq!(mode(&path), 0o600);
        store.save("b", Some("2")).await.unwrap();
        assert_eq!(mode(store.folder()), 0o700);
    }

    #[tokio::test]
    async fn a_link_is_not_followed() {
        let (place, store) = store();
        store.save("a", Some("1")).await.unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::write(&elsewhere, "not ours").unwrap();
        for ending in [".json", ".lock"] {
            let _ = fs::remove_file(store.path("a", ending));
            symlink(&elsewhere, store.path("a", ending)).unwrap();
        }
        assert_eq!(kind(store.load("a").await), StoreErrorKind::Permission);
        assert_eq!(kind(store.lock("a").await), StoreErrorKind::Permission);
        // The link is replaced, not what it leads to.
        store.save("a", Some("2")).await.unwrap();
        assert_eq!(store.load("a").await, Ok(Some("2".to_owned())));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "not ours");
    }

    #[tokio::test]
    async fn what_is_no_file_is_refused() {
        let (_place, store) = store();
        fs::create_dir_all(store.path("a", ".json")).unwrap();
        assert_eq!(kind(store.load("a").await), StoreErrorKind::Permission);
    }

    #[tokio::test]
    async fn what_belongs_to_somebody_else_is_refused() {
        let (_place, store) = store();
        store.save("a", Some("1")).await.unwrap();
        // Only the superuser can give a file away.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(store.path("a", ".json"), Some(12_345), None).unwrap();
            let error = store.load("a").await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Permission);
            assert!(error.to_string().contains("belongs to another user"), "{error}");
        } else {
            // `/` is the superuser's.
            assert_eq!(kind(FileStore::new("/").save("a", Some("1")).await), StoreErrorKind::Permission);
        }
    }
}
