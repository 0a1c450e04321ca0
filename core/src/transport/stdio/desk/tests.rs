use super::*;
use crate::transport::exchange::Cause;

const LIMIT: usize = 1_000;

fn desk() -> (Arc<Desk>, Coming) {
    let (desk, unasked) = Desk::new(LIMIT);
    (Arc::new(desk), unasked)
}

fn line(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn expect(desk: &Arc<Desk>, id: u64) -> Expected {
    desk.expect(id, false, Probe::new()).unwrap_or_else(|end| panic!("{end}"))
}

fn end() -> ChannelEnd {
    ChannelEnd::new(Cause::ProcessEnded, None, None, String::new())
}

async fn all(mut expected: Expected) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        match expected.next().await {
            Came::Word(line) => told.push(text(&line)),
            Came::Answer(line) => {
                told.push(format!("answer {}", text(&line)));
                return told;
            }
            Came::Over(_) => {
                told.push("over".to_owned());
                return told;
            }
            Came::Done => {
                told.push("done".to_owned());
                return told;
            }
        }
    }
}

async fn next(coming: &mut Coming) -> String {
    String::from_utf8_lossy(&coming.next().await.unwrap()).into_owned()
}

#[tokio::test]
async fn each_line_goes_to_whom_it_belongs_to_in_order() {
    let (desk, mut unasked) = desk();
    let (first, second) = (expect(&desk, 1), expect(&desk, 2));
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
    for text in [
        progress,
        r#"{"id":1,"result":{}}"#,
        progress,
        r#"{"id":2,"error":{"code":1,"message":""}}"#,
        r#"{"method":"notifications/message","params":{}}"#,
        r#"{"id":7,"method":"ping"}"#,
        r#"{"id":9,"result":{}}"#,
    ] {
        assert!(matches!(desk.deliver(line(text)), Delivery::Delivered), "{text}");
    }
    assert_eq!(all(first).await, [r#"answer {"id":1,"result":{}}"#]);
    assert_eq!(all(second).await, [progress, progress, r#"answer {"id":2,"error":{"code":1,"message":""}}"#]);
    assert_eq!(next(&mut unasked).await, r#"{"method":"notifications/message","params":{}}"#);
    assert_eq!(next(&mut unasked).await, r#"{"id":7,"method":"ping"}"#);
    assert_eq!(next(&mut unasked).await, r#"{"id":9,"result":{}}"#);
}

#[tokio::test]
async fn a_subscription_gets_what_is_told_of_it_until_the_server_ends_it() {
    let (desk, _unasked) = desk();
    let listen = expect(&desk, 3);
    let told = r#"{"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"3"}}}"#;
    let ended = r#"{"method":"notifications/cancelled","params":{"requestId":"3","_meta":{"io.modelcontextprotocol/subscriptionId":"3"}}}"#;
    for text in [told, ended] {
        assert!(matches!(desk.deliver(line(text)), Delivery::Delivered));
    }
    assert_eq!(all(listen).await, [told, "done"]);
}

#[tokio::test]
async fn the_parts_of_a_batch_go_their_ways() {
    let (desk, mut unasked) = desk();
    let (first, second) = (expect(&desk, 1), expect(&desk, 2));
    let batch = r#"[{"id":2,"result":{"b":1}},{"method":"notifications/message"},{"id":1,"result":{}}]"#;
    assert!(matches!(desk.deliver(line(batch)), Delivery::Delivered));
    assert_eq!(all(first).await, [r#"answer {"id":1,"result":{}}"#]);
    assert_eq!(all(second).await, [r#"answer {"id":2,"result":{"b":1}}"#]);
    assert_eq!(next(&mut unasked).await, r#"{"method":"notifications/message"}"#);
}

#[tokio::test]
async fn what_is_no_message_ends_only_the_request_that_it_names() {
    let (desk, mut unasked) = desk();
    let (first, mut second) = (expect(&desk, 1), expect(&desk, 2));
    assert!(matches!(desk.deliver(line("Server running")), Delivery::NoMessage));
    assert!(matches!(desk.deliver(line(r#"{"id":1,"result":{"x"#)), Delivery::NoMessage));
    assert_eq!(all(first).await, [r#"answer {"id":1,"result":{"x"#]);
    // It may have been the answer to any of them.
    assert!(matches!(desk.deliver(line(r#"{"result":{"x"#)), Delivery::NoMessage));
    assert!(matches!(second.next().await, Came::Word(_)));
    assert_eq!(next(&mut unasked).await, "Server running");
}

#[tokio::test]
async fn an_error_without_an_id_is_the_answer_to_what_comes_first_and_to_nothing_else() {
    let null = r#"{"id":null,"error":{"code":-32600,"message":"no"}}"#;
    let (desk, _unasked) = desk();
    let asked = desk.expect(1, true, Probe::new()).unwrap_or_else(|end| panic!("{end}"));
    assert!(matches!(desk.deliver(line(null)), Delivery::Delivered));
    assert_eq!(all(asked).await, [format!("answer {null}")]);
    let call = expect(&desk, 2);
    assert!(matches!(desk.deliver(line(null)), Delivery::Delivered));
    assert!(call.unanswered().is_some());
}

#[tokio::test]
async fn the_end_is_told_to_all_and_names_those_whose_line_nobody_has_read() {
    let (desk, _unasked) = desk();
    let probes: Vec<Probe> = (0..3).map(|_| Probe::new()).collect();
    let mut waiting = Vec::new();
    for (id, probe) in (0_u64..).zip(&probes) {
        waiting.push(desk.expect(id, false, probe.clone()).unwrap_or_else(|end| panic!("{end}")));
        assert!(probe.take());
        desk.written(id, id * 100);
    }
    // Of 300 bytes 150 are left in the pipe: the last line whole, the one before it in part.
    desk.close(&end(), 300, Some(150));
    assert_eq!(probes.iter().map(Probe::seal).collect::<Vec<_>>(), [true, true, false]);
    for expected in waiting {
        assert_eq!(all(expected).await, ["over"]);
    }
    assert!(desk.expect(9, false, Probe::new()).is_err());
}

#[tokio::test]
async fn what_nobody_reads_is_held_within_a_bound_and_the_answer_never_dropped() {
    let (desk, _unasked) = desk();
    let call = expect(&desk, 1);
    let progress = format!(
        r#"{{"method":"notifications/progress","params":{{"progressToken":1,"message":"{}"}}}}"#,
        "x".repeat(LIMIT / 4)
    );
    let delivered = (0..10).filter(|_| matches!(desk.deliver(line(&progress)), Delivery::Delivered)).count();
    assert_eq!(delivered, 3);
    assert!(matches!(desk.deliver(line(r#"{"id":1,"result":{}}"#)), Delivery::Delivered));
    assert_eq!(all(call).await.len(), 4);
}
