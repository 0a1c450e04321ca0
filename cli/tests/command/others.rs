//! `oncewire read`, `prompt`, `completions` and `man`.

use oncewire_tests::server::{FaultServer, Options};
use serde_json::json;

use crate::support::{ended, oncewire, run, server};

#[tokio::test]
async fn a_resource_is_read() {
    let server = FaultServer::healthy().await.unwrap();
    let ran = run(&["read", server.url(), "mem://a"]).await;
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "what mem://a holds\n", ""), "{ran:?}");
    let ran = run(&["read", server.url(), "mem://a", "--json"]).await;
    assert_eq!(ran.json()["contents"][0]["uri"], "mem://a");
    let ran = run(&["read", server.url(), "no://such"]).await;
    assert_eq!(ran.code, Some(5), "the server answered with an error: {ran:?}");
}

#[tokio::test]
async fn what_is_no_text_goes_to_a_program_as_it_is_and_into_a_folder() {
    let contents = json!([{"uri": "mem://a", "mimeType": "image/png", "blob": "AP8KDQ=="}]);
    let answer = json!({"jsonrpc": "2.0", "id": "$id", "result": {"contents": contents}});
    let rules = json!([{"when": {"rpc": "resources/read"}, "do": [{"respond": {"json": answer}}]}]);
    let server = server(Options::default(), rules).await;
    let output = oncewire(&["read", server.url(), "mem://a"]).output().await.unwrap();
    assert_eq!(output.stdout, [0, 255, 10, 13]);
    let folder = tempfile::tempdir().unwrap();
    let ran = run(&["read", server.url(), "mem://a", "--output", folder.path().to_str().unwrap()]).await;
    assert!(ran.out.starts_with("[image/png, 4 bytes, saved as "), "{ran:?}");
    assert_eq!(std::fs::read(folder.path().join("mem-a-1.png")).unwrap(), [0, 255, 10, 13]);
}

#[tokio::test]
async fn a_prompt_is_filled_in() {
    let prompts = json!([{"name": "hello", "arguments": [{"name": "who", "required": true}, {"name": "how"}]}]);
    let answer = json!({"jsonrpc": "2.0", "id": "$id", "result": {"prompts": prompts}});
    let rules = json!([{"when": {"rpc": "prompts/list"}, "do": [{"respond": {"json": answer}}]}]);
    let server = server(Options::default(), rules).await;
    let ran = run(&["prompt", server.url(), "hello", "who=ada"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "user: say hello\n"), "{ran:?}");
    let ledger = server.ledger();
    let asked = ledger.arrivals.iter().find(|it| it.rpc.as_deref() == Some("prompts/get")).unwrap();
    assert_eq!(asked.params["arguments"], json!({"who": "ada"}));

    let faults: [(&[&str], &str); 4] = [
        (&["hello"], "who: it is missing"),
        (&["hello", "who=a", "when=b"], "when: the prompt has no such argument; it takes who, how"),
        (&["hello", "who:=1"], "who: the arguments of a prompt are texts"),
        (&["hullo"], "NAME: the server has no prompt \"hullo\"; it has hello"),
    ];
    for (words, says) in faults {
        let ran = run(&[&["prompt", server.url()], words].concat()).await;
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.starts_with(&format!("error: {says}")), "{ran:?}");
    }
    assert_eq!(server.ledger().arrivals_of("prompts/get", None), 1, "nothing more was asked for");
}

#[tokio::test]
async fn every_shell_has_a_script_and_every_command_a_page() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = run(&["completions", shell]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains("oncewire") && ran.out.contains("idempotency-key"), "{shell}");
    }
    assert!(run(&["man"]).await.out.contains(".TH oncewire"));
    let folder = tempfile::tempdir().unwrap();
    run(&["man", "--output", folder.path().to_str().unwrap()]).await;
    let page = std::fs::read_to_string(folder.path().join("oncewire-call.1")).unwrap();
    assert!(page.contains("idempotency"), "{page}");
}

/// The shell itself reads the script, and completes with it.
#[tokio::test]
async fn bash_completes_commands_and_options() {
    let script = "source <(\"$ONCEWIRE\" completions bash) && COMP_WORDS=(oncewire call --idem) COMP_CWORD=2 && _oncewire oncewire --idem call \
                  && echo \"${COMPREPLY[@]}\"";
    let mut command = tokio::process::Command::new("bash");
    command.args(["-c", script]).env("ONCEWIRE", env!("CARGO_BIN_EXE_oncewire")).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ran = ended(command.spawn().unwrap()).await;
    assert_eq!(ran.out.trim(), "--idempotency-key", "{ran:?}");
}
