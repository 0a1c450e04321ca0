use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const LONG: Duration = Duration::from_secs(600);

/// Sends these bytes, and reads to the end.
async fn send(port: u16, bytes: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is closed on an unread rest may end with a reset.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

async fn get(port: u16, target: &str) -> String {
    send(port, &format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).await
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[tokio::test]
async fn the_redirect_that_is_waited_for_is_received() {
    let loopback = Loopback::bind(None).await.unwrap();
    let receiving = loopback.receive("/callback", "s", LONG);
    let (url, answer) = tokio::join!(receiving, get(loopback.port(), "/callback?code=a%2Bb&state=s&iss=https://as"));
    let expected = format!("http://127.0.0.1:{}/callback?code=a%2Bb&state=s&iss=https://as", loopback.port());
    assert_eq!(url.unwrap().as_str(), expected);
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("You may close this window"), "{answer}");
    for header in
        ["cache-control: no-store", "referrer-policy: no-referrer", "content-security-policy: default-src 'none'"]
    {
        assert!(answer.contains(header), "{answer}");
    }
}

#[tokio::test]
async fn an_error_is_a_redirect_too() {
    let loopback = Loopback::bind(None).await.unwrap();
    let receiving = loopback.receive("/", "s", LONG);
    let (url, answer) = tokio::join!(receiving, get(loopback.port(), "/?error=access_denied&state=s"));
    assert!(url.unwrap().query().unwrap().contains("access_denied"));
    assert!(answer.contains("The authorization server answered: access_denied"), "{answer}");
}

#[tokio::test]
async fn nothing_else_ends_it() {
    let loopback = Loopback::bind(None).await.unwrap();
    let port = loopback.port();
    let browser = async move {
        assert_eq!(status(&get(port, "/favicon.ico").await), "404");
        assert_eq!(status(&get(port, "/callback/x?code=1&state=s").await), "404");
        for query in ["", "?code=1", "?code=1&state=t", "?code=1&state=", "?code=1&state=s&state=s", "?code=1&state=ss"]
        {
            let answer = get(port, &format!("/callback{query}")).await;
            assert_eq!(status(&answer), "400", "{query}");
            assert!(answer.contains("no login that is waited for"), "{answer}");
        }
        for method in ["HEAD", "POST", "OPTIONS"] {
            let request = format!("{method} /callback?code=1&state=s HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
            assert_eq!(status(&send(port, &request).await), "405", "{method}");
        }
        assert_eq!(status(&send(port, "no HTTP at all\r\n\r\n").await), "400");
        let long = format!("GET /callback?code={}&state=s HTTP/1.1\r\n\r\n", "x".repeat(4 * HEAD));
        assert_ne!(status(&send(port, &long).await), "200");
        // One that says nothing, as browsers open them, and one that went away.
        let _silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap());
        get(port, "/callback?code=2&state=s").await
    };
    let (url, answer) = tokio::join!(loopback.receive("/callback", "s", LONG), browser);
    assert_eq!(status(&answer), "200");
    assert_eq!(url.unwrap().query(), Some("code=2&state=s"));
}

#[tokio::test]
async fn it_is_received_once() {
    let expected = Expected { path: "/".to_owned(), state: "s".to_owned(), port: 1, received: OnceLock::new() };
    let ask = |target: &'static str| expected.answer(&Method::GET, &http::Uri::from_static(target)).status();
    assert_eq!((ask("/?code=1&state=s"), ask("/?code=2&state=s")), (StatusCode::OK, StatusCode::OK));
    assert_eq!(expected.received.get().unwrap().query(), Some("code=1&state=s"));
}

#[tokio::test]
async fn the_port_is_held_and_free_afterwards() {
    let loopback = Loopback::bind(None).await.unwrap();
    let port = loopback.port();
    let second = Loopback::bind(Some(port)).await.unwrap_err();
    assert!(matches!(second, LoopbackError::PortInUse(in_use) if in_use == port), "{second}");
    let receiving = loopback.receive("/", "s", LONG);
    let (url, _) = tokio::join!(receiving, get(port, "/?code=1&state=s"));
    url.unwrap();
    assert!(Loopback::bind(Some(port)).await.is_err(), "until it is dropped");
    drop(loopback);
    assert_eq!(Loopback::bind(Some(port)).await.unwrap().port(), port);
}

#[tokio::test]
async fn it_listens_on_the_loopback_interface_alone() {
    let loopback = Loopback::bind(None).await.unwrap();
    assert_eq!(loopback.listener.local_addr().unwrap().ip(), Ipv4Addr::LOCALHOST);
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_bounded() {
    let loopback = Loopback::bind(None).await.unwrap();
    let error = loopback.receive("/", "s", LONG).await.unwrap_err();
    assert!(matches!(error, LoopbackError::TimedOut(LONG)), "{error}");
}

#[tokio::test]
async fn a_crowd_of_silent_connections_keeps_nobody_out_for_long() {
    let loopback = Loopback::bind(None).await.unwrap();
    let port = loopback.port();
    let crowd = async move {
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS + 4 {
            silent.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap());
        }
        // Each is served for its time and no longer; one that goes makes room at once.
        let waiting = tokio::spawn(async move { get(port, "/?code=1&state=s").await });
        silent.clear();
        waiting.await.unwrap()
    };
    let (url, answer) = tokio::join!(loopback.receive("/", "s", LONG), crowd);
    assert_eq!((url.unwrap().query(), status(&answer)), (Some("code=1&state=s"), "200"));
}
