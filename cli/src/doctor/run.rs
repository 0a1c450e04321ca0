//! All servers that were named, one after the other, and how it ends.

use std::collections::BTreeMap;

use oncewire::Client;

use super::arguments::{FailOn, Options};
use super::catalog;
use super::examine::{Plan, examine};
use super::facts::Facts;
use super::host_config::{self, Entry, What};
use super::progress::Progress;
use super::report::{Finding, Report, ServerReport, Severity, Transport};
use super::sarif::sarif;
use super::stdio::{self, Program};
use super::text::text;
use crate::Context;
use crate::connection::{Ask, Server, named as of_option};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::output::{note, print};

/// Examines, prints, and says how it ended.
///
/// # Errors
/// Bad input, before anything was sent; an output that is closed.
pub(crate) async fn run(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let named = named(options)?;
    let mut servers = Vec::new();
    for server in named {
        let progress = Progress::of(server.name.as_deref().unwrap_or("the server"));
        servers.push(one(server, options, context, &progress).await?);
        if let Some(exit) = context.interrupt.was_given() {
            // What was opened has been ended; half a report would be taken for a whole one.
            note("interrupted: what was opened has been ended");
            return Ok(exit);
        }
    }
    let report = Report::new(servers);
    print(&written(options, context, &report))?;
    Ok(if fails(&options.fail_on, &report) { Exit::Failure } else { Exit::Success })
}

/// The servers that were named: by a URL, a command, or a host's config.
fn named(options: &Options) -> Result<Vec<Entry>, BadInput> {
    if let Some(file) = &options.config {
        return host_config::read(file);
    }
    let what = match (&options.url, options.command.split_first()) {
        (Some(url), _) => What::Given { url: url.clone() },
        (None, Some((program, rest))) => {
            let (program, arguments) = (program.clone(), rest.to_vec());
            What::Command(Program { program, arguments, environment: BTreeMap::new() })
        }
        (None, None) => return Err(BadInput::new("URL", "it is missing: name the server")),
    };
    Ok(vec![Entry { name: None, what }])
}

async fn one(
    server: Entry,
    options: &Options,
    context: &Context,
    progress: &Progress,
) -> Result<ServerReport, Failure> {
    let plan = |has_login, login| -> Result<Plan, BadInput> {
        Ok(Plan {
            timeout: options.whole()?,
            slow: options.slow,
            intrusive: options.intrusive,
            call: options.call.clone(),
            login,
            has_login,
            era: options.connection.era(),
            interrupt: context.interrupt.clone(),
        })
    };
    let name = server.name;
    match server.what {
        What::Given { url } => {
            let server = Server::new(Some(&url))?;
            let builder = match options.login {
                true => options.connection.builder(&server, Ask::IfTerminal)?,
                false => options.connection.without_login(&server)?,
            };
            let plan = plan(options.connection.has_token(), options.login)?;
            examine(name, &builder, &plan, progress).await.map_err(of_option)
        }
        What::Url { url, headers } => {
            let plan = plan(headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")), false)?;
            let builder =
                headers.into_iter().fold(Client::builder(url), |builder, (name, value)| builder.header(name, value));
            let examined = examine(name.clone(), &builder, &plan, progress).await;
            Ok(examined.unwrap_or_else(|error| unusable(name, Transport::Http, &error.to_string())))
        }
        What::Command(program) => Ok(stdio::examine(name, &program, &plan(false, false)?, progress).await),
        What::Unusable(why) => Ok(unusable(name, Transport::Http, &why)),
    }
}

fn written(options: &Options, context: &Context, report: &Report) -> String {
    if options.sarif {
        return pretty(&sarif(report));
    }
    if context.json {
        return pretty(report);
    }
    let text = text(report);
    let plain = anstream::AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never;
    if plain { anstream::adapter::strip_str(&text).to_string() } else { text }
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A report of a server that cannot even be tried.
fn unusable(name: Option<String>, transport: Transport, why: &str) -> ServerReport {
    ServerReport {
        target: name.clone().unwrap_or_default(),
        name,
        transport,
        complete: false,
        took_ms: 0,
        grade: None,
        family: None,
        facts: Facts::default(),
        findings: vec![Finding::new(&catalog::UNUSABLE, why)],
    }
}

fn fails(fail_on: &[FailOn], report: &Report) -> bool {
    report.servers.iter().any(|server| {
        let unexamined =
            server.grade.is_none() && server.findings.iter().any(|finding| finding.severity == Severity::Error);
        unexamined
            || fail_on.iter().any(|fail_on| match fail_on {
                FailOn::Grade(letter) => server.grade.as_ref().is_none_or(|grade| grade.letter >= *letter),
                FailOn::Severity(severity) => server.findings.iter().any(|finding| finding.severity >= *severity),
            })
    })
}
