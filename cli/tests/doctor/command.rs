//! Runs the command, and reads what it says.

use std::process::{Output, Stdio};
use std::sync::OnceLock;

use jsonschema::Validator;
use oncewire_tests::server::{FaultServer, Script};
use serde_json::Value;
use tokio::process::Command;

/// A server with this script.
pub(crate) async fn server(script: Value) -> FaultServer {
    FaultServer::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap()
}

/// The command with these arguments, without whatever the environment of the tests may say.
pub(crate) async fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncewire"));
    command.arg("doctor").args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.output().await.unwrap()
}

/// The report as JSON, which is held to its schema, and the whole of what was printed.
pub(crate) async fn report(arguments: &[&str]) -> (Value, String) {
    let output = doctor(&[&["--json"], arguments].concat()).await;
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("no JSON: {printed}{errors}"));
    let problems: Vec<_> =
        schema().iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}\n{printed}");
    (report, printed + &errors)
}

/// The report on this one server.
pub(crate) async fn examined(server: &FaultServer, more: &[&str]) -> Value {
    let (report, _) = report(&[&[server.url()], more].concat()).await;
    report["servers"][0].clone()
}

/// The checks that found something, in order.
pub(crate) fn checks(server: &Value) -> Vec<&str> {
    server["findings"].as_array().unwrap().iter().map(|finding| finding["check"].as_str().unwrap()).collect()
}

fn schema() -> &'static Validator {
    static SCHEMA: OnceLock<Validator> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let schema: Value = serde_json::from_str(include_str!("../../schema/doctor-report.json")).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    })
}
