//! Resends: how often, after what wait, and out of which budget.

use oncewire::transport::exchange::Cause;
use oncewire::transport::scripted::{Reply, Server};
use oncewire::{Execution, Kind, Proof, Resend};
use tokio::time::Instant;

use crate::support::{NOTHING, builder, connect, failure, run_and_cut, scripted, seconds};

fn busy(
    server: &Server,
    retry_after: &'static str,
    times: usize,
) -> std::sync::Arc<oncewire::transport::scripted::Scripted> {
    scripted(server, move |arrival, nth| async move {
        (matches!(arrival.method(), "tools/call" | "ping") && nth < times)
            .then(|| Ok(Reply::new(429).header("retry-after", retry_after)))
    })
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for() {
    let server = Server::new();
    let exchange = busy(&server, "7", 3);
    let client = connect(&exchange).await;
    let began = Instant::now();
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!(began.elapsed(), seconds(21));
    assert_eq!(server.executed("poke"), 1);
}

#[tokio::test(start_paused = true)]
async fn three_waits_are_enough() {
    let server = Server::new();
    let exchange = busy(&server, "1", 99);
    let client = connect(&exchange).await;
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!(failure.attempts.len(), 4);
    assert_eq!((failure.kind, failure.proof), (Kind::RateLimited, Some(Proof::RateLimited)));
    assert_eq!(failure.retry_after, Some(seconds(1)));
}

#[tokio::test(start_paused = true)]
async fn a_longer_wait_than_is_borne_surfaces_at_once_with_the_figure() {
    let server = Server::new();
    let client = connect(&busy(&server, "61", 1)).await;
    let began = Instant::now();
    let too_long = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((too_long.kind, too_long.execution), (Kind::RateLimited, Execution::NotExecuted));
    assert_eq!(too_long.retry_after, Some(seconds(61)));
    let client = connect(&busy(&server, "20", 1)).await;
    let past_the_deadline = failure(client.call_tool("poke", NOTHING).timeout(seconds(20)).await);
    assert_eq!(past_the_deadline.retry_after, Some(seconds(20)));
    let client = builder(&busy(&server, "6", 1)).retry_after_max(seconds(5)).connect().await.unwrap();
    assert_eq!(failure(client.call_tool("poke", NOTHING).await).retry_after, Some(seconds(6)));
    assert_eq!(began.elapsed(), seconds(0));
}

#[tokio::test(start_paused = true)]
async fn a_read_is_resent_twice_and_then_surfaces() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, _| async move {
        (arrival.method() == "resources/read").then(|| Ok(Reply::text(502, "<html>")))
    });
    let client = connect(&exchange).await;
    let failure = failure(client.read_resource("mem://a").await);
    assert_eq!(failure.attempts.len(), 3);
    assert_eq!((failure.kind, failure.execution), (Kind::Gateway, Execution::MayHaveExecuted));
    assert_eq!(failure.excerpt.as_deref(), Some("<html>"));
    assert_eq!(exchange.ledger().count("initialize"), 1, "502 says nothing of the session");
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_nothing_is_resent_after_an_ambiguous_loss() {
    let server = Server::new();
    let exchange =
        scripted(
            &server,
            |arrival, _| async move { (arrival.method() == "resources/read").then(|| Ok(Reply::new(500))) },
        );
    let client = builder(&exchange).retry_budget(0.0, 0).connect().await.unwrap();
    assert_eq!(failure(client.read_resource("mem://a").await).attempts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_budget_runs_out_and_comes_back() {
    let server = Server::new();
    let exchange =
        scripted(
            &server,
            |arrival, _| async move { (arrival.method() == "resources/read").then(|| Ok(Reply::new(500))) },
        );
    // One a second over ten seconds.
    let client = builder(&exchange).retry_budget(0.0, 1).connect().await.unwrap();
    let began = Instant::now();
    for _ in 0..20 {
        failure(client.read_resource("mem://a").await);
    }
    assert!(began.elapsed() < seconds(10), "the back-off alone fills no window");
    assert_eq!(exchange.ledger().count("resources/read"), 20 + 10);
    tokio::time::sleep(seconds(20)).await;
    failure(client.read_resource("mem://a").await);
    tokio::time::sleep(seconds(20)).await;
    let before = exchange.ledger().count("resources/read");
    failure(client.read_resource("mem://a").await);
    assert_eq!(exchange.ledger().count("resources/read") - before, 3);
}

#[tokio::test(start_paused = true)]
async fn repeats_of_what_was_never_sent_are_free_of_the_budget_and_end_with_patience() {
    let server = Server::new();
    let exchange =
        scripted(
            &server,
            |arrival, _| async move { (arrival.method() == "tools/call").then_some(Err(Cause::Refused)) },
        );
    let client = builder(&exchange).retry_budget(0.0, 0).connect().await.unwrap();
    let began = Instant::now();
    let patient = failure(client.call_tool("poke", NOTHING).await);
    assert!((10..=12).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!((patient.kind, patient.proof), (Kind::Connect, Some(Proof::NeverSent)));
    assert!(patient.attempts.len() > 5);
    let began = Instant::now();
    let hasty = failure(client.call_tool("poke", NOTHING).timeout(seconds(3)).await);
    assert_eq!(began.elapsed(), seconds(3), "a deadline takes the place of patience");
    assert_eq!((hasty.execution, hasty.proof), (Execution::NotExecuted, Some(Proof::NeverSent)));
}

#[tokio::test(start_paused = true)]
async fn causes_that_do_not_pass_surface_at_once() {
    for cause in [Cause::Tls, Cause::DnsUnknownHost, Cause::Proxy, Cause::BadRequest] {
        let server = Server::new();
        let exchange =
            scripted(
                &server,
                move |arrival, _| async move { (arrival.method() == "tools/call").then_some(Err(cause)) },
            );
        let failure = failure(connect(&exchange).await.call_tool("poke", NOTHING).await);
        assert_eq!((failure.execution, failure.attempts.len()), (Execution::NotExecuted, 1), "{cause:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_stream_is_resent_once() {
    let server = Server::new();
    let exchange = scripted(&server, |arrival, nth| async move {
        (arrival.method() == "tools/call" && nth != 1).then_some(Err(Cause::GoneAway))
    });
    let client = connect(&exchange).await;
    client.call_tool("poke", NOTHING).await.unwrap();
    let failure = failure(client.call_tool("poke", NOTHING).await);
    assert_eq!((failure.attempts.len(), failure.proof), (2, Some(Proof::RefusedStream)));
    assert_eq!(server.executed("poke"), 1);
}

#[tokio::test(start_paused = true)]
async fn after_one_ambiguous_attempt_later_proofs_say_nothing_of_the_call() {
    let server = Server::new();
    let exchange = scripted(&server, {
        let server = server.clone();
        move |arrival, nth| {
            let server = server.clone();
            async move {
                match (arrival.method(), nth) {
                    ("tools/call", 0) => run_and_cut(&server, &arrival),
                    ("tools/call", _) => Some(Ok(Reply::new(403))),
                    _ => None,
                }
            }
        }
    });
    let client = connect(&exchange).await;
    let failure = failure(client.call_tool("poke", NOTHING).resend(Resend::Always).await);
    assert_eq!(failure.attempts.len(), 2);
    assert_eq!(failure.attempts[1].proof, None, "no twin for a call that is in doubt anyway");
    assert_eq!(exchange.ledger().count("ping"), 0);
    assert_eq!((failure.execution, failure.proof), (Execution::MayHaveExecuted, None));
}
