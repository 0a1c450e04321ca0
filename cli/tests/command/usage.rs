//! What cannot be used is named, the code is 2, and nothing is sent.

use oncewire_tests::server::FaultServer;
use test_case::test_case;

use crate::support::{ended, oncewire, run};

#[tokio::test]
async fn help_and_version_are_no_error() {
    for arguments in [&["--help"][..], &["--version"], &["list", "--help"]] {
        let ran = run(arguments).await;
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        assert!(ran.out.contains("oncewire"), "{ran:?}");
    }
}

#[test_case(&["--token", "s3cret"], "--token", "--token-env"; "a token in the open")]
#[test_case(&["--header", "Authorization: Bearer s3cret"], "--header", "--header-env"; "a secret header in the open")]
#[test_case(&["--header", "no-colon"], "--header", "NAME: VALUE"; "a header without a value")]
#[test_case(&["--timeout", "soon"], "--timeout", "it is no duration"; "a timeout that is none")]
#[test_case(&["--timeout", "0"], "--timeout", "above zero"; "a timeout of zero, which the core refuses")]
#[test_case(&["--era", "future"], "--era", "modern"; "an era that is none")]
#[test_case(&["--token-env", "ONCEWIRE_SURELY_NOT_SET"], "--token-env", "ONCEWIRE_SURELY_NOT_SET"; "a variable that is not there")]
#[test_case(&["--token-file", "/surely/not/there"], "--token-file", "/surely/not/there"; "a file that is not there")]
#[test_case(&["--root-certificate", "/surely/not/there"], "--root-certificate", "/surely/not/there"; "a certificate that is not there")]
#[tokio::test]
async fn what_cannot_be_used_is_named_and_nothing_is_sent(options: &[&str], argument: &str, says: &str) {
    let server = FaultServer::healthy().await.unwrap();
    let ran = run(&[&["list", server.url()], options].concat()).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.err.contains(argument) && ran.err.contains(says) && !ran.err.contains("s3cret"), "{ran:?}");

    let ran = run(&[&["--json", "list", server.url()], options].concat()).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), ""), "{ran:?}");
    let error = ran.json();
    assert_eq!((&error["kind"], &error["execution"]), (&"config".into(), &"not_executed".into()), "{error}");
    assert!(error["argument"].as_str().unwrap().starts_with(argument), "{error}");

    let ledger = server.ledger();
    assert_eq!((ledger.connections.opened, ledger.arrivals.len()), (0, 0), "nothing is sent");
}

#[tokio::test]
async fn a_url_that_is_none_is_named_and_not_repeated() {
    let ran = run(&["list", "ftp://s3cret.example/"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("URL: its scheme must be http or https") && !ran.err.contains("s3cret"), "{ran:?}");
}

#[tokio::test]
async fn headers_and_tokens_come_from_the_environment_and_from_files() {
    let server = FaultServer::healthy().await.unwrap();
    server.accept_tokens(["s3cret"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "s3cret\n").unwrap();
    let headers = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&headers, "x-team: blue\nauthorization: Bearer s3cret\n").unwrap();
    let ways: [&[&str]; 5] = [
        &["--token-env", "OUR_TOKEN"],
        &["--token-file", file.path().to_str().unwrap()],
        &["--headers-file", headers.path().to_str().unwrap()],
        &["--header", "Authorization: Bearer ${OUR_TOKEN}"],
        &["--header-env", "Authorization=OUR_HEADER"],
    ];
    for way in ways {
        let mut command = oncewire(&[&["list", server.url(), "tools"], way].concat());
        command.env("OUR_TOKEN", "s3cret").env("OUR_HEADER", "Bearer s3cret");
        let ran = ended(command.spawn().unwrap()).await;
        assert_eq!(ran.code, Some(0), "{way:?}: {ran:?}");
        assert!(ran.out.starts_with("poke\t"), "{ran:?}");
    }
}
