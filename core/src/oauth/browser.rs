//! Opens the user's browser.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long is waited for what the system says about it. A browser that runs in the terminal says nothing until it is left: it was opened.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why no browser was opened: the URL has to be shown to somebody in another way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BrowserError {
    /// A machine without a screen, say.
    #[error("no browser was found on this machine")]
    NotFound,
    /// A file or a program must not be opened because a server says so.
    #[error("the URL of the login is neither http nor https: it is not opened")]
    NotWeb,
    /// The text holds no URL.
    #[error("the browser was not opened: {0}")]
    Failed(String),
}

/// Opens this URL in the browser that the user has chosen: `$BROWSER`, or that of the desktop. No shell sees the URL.
///
/// # Errors
/// If there is none. That the page was shown, nobody knows.
pub(crate) async fn open(url: &str) -> Result<(), BrowserError> {
    let url = url.to_owned();
    let (sender, receiver) = oneshot::channel();
    // Not in the runtime's pool: a runtime waits for that when it ends.
    let opener = thread::Builder::new().name("oncewire-browser".to_owned()).spawn(move || {
        let _ = sender.send(webbrowser::open(&url));
    });
    opener.map_err(|error| BrowserError::Failed(error.to_string()))?;
    match timeout(PATIENCE, receiver).await {
        Err(_) | Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => Err(of_io(&error)),
        Ok(Err(_)) => Err(BrowserError::Failed("the attempt ended without a word".to_owned())),
    }
}

fn of_io(error: &io::Error) -> BrowserError {
    match error.kind() {
        io::ErrorKind::NotFound => BrowserError::NotFound,
        io::ErrorKind::InvalidInput => BrowserError::NotWeb,
        kind => BrowserError::Failed(kind.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("file:///etc/passwd"; "a file")]
    #[test_case("javascript:alert(1)"; "a script")]
    #[test_case("ssh://a.example"; "another program")]
    #[tokio::test]
    async fn only_the_web_is_opened(url: &str) {
        assert_eq!(open(url).await, Err(BrowserError::NotWeb));
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    mod with_an_environment {
        use std::env;
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        use std::process::Command;

        use super::*;

        /// The URL, to the process that is to open it.
        const URL: &str = "ONCEWIRE_TEST_URL";

        /// This test again, in a process of its own with nothing in its environment but this.
        fn again(test: &str, url: &str) -> Command {
            let mut command = Command::new(env::current_exe().unwrap());
            let test = format!("oauth::browser::tests::with_an_environment::{test}");
            command.args(["--exact", &test, "--nocapture"]).env_clear().env(URL, url);
            command
        }

        #[tokio::test]
        async fn the_browser_of_the_user_gets_the_url() {
            if let Ok(url) = env::var(URL) {
                open(&url).await.unwrap();
                return;
            }
            let place = tempfile::tempdir().unwrap();
            let (browser, opened) = (place.path().join("browser"), place.path().join("opened"));
            fs::write(&browser, format!("#!/bin/sh\nprintf %s \"$1\" > {0}.new; mv {0}.new {0}\n", opened.display()))
                .unwrap();
            fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
            let url = "https://as.example/authorize?state=a%20b&x=$(id);'\"";
            let mut child = again("the_browser_of_the_user_gets_the_url", url);
            assert!(child.env("BROWSER", &browser).env("PATH", "/usr/bin:/bin").status().unwrap().success());
            // The browser runs by itself.
            let got = loop {
                if let Ok(got) = fs::read_to_string(&opened) {
                    break got;
                }
                tokio::task::yield_now().await;
            };
            assert_eq!(url::Url::parse(&got), url::Url::parse(url));
        }

        #[tokio::test]
        async fn without_a_browser_that_is_told() {
            if let Ok(url) = env::var(URL) {
                assert_eq!(open(&url).await, Err(BrowserError::NotFound));
                return;
            }
            let place = tempfile::tempdir().unwrap();
            let mut child = again("without_a_browser_that_is_told", "https://as.example/");
            assert!(child.env("PATH", place.path()).status().unwrap().success());
        }
    }
}
