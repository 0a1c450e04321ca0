//! `oncewire-bench`: what oncewire costs, measured against a bare HTTP loop and rmcp in the same run, so that only ratios are claimed.

mod contender;
mod server;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser;
use serde_json::json;

use crate::contender::Contender;
use crate::server::Shared;

/// What oncewire costs, against a bare HTTP loop and rmcp in one run
#[derive(Parser)]
struct Options {
    /// Shorter rounds: shows that it works, not what it costs
    #[arg(long)]
    quick: bool,
    /// Measure nothing: serve the clients of another language. Prints the URL, and ends with its standard input
    #[arg(long)]
    serve: bool,
}

struct Measured {
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    // The other client asks for the provider of the process; oncewire does not.
    rustls::crypto::ring::default_provider().install_default().ok().context("no crypto provider")?;
    let (url, shared) = server::start()?;
    if options.serve {
        println!("{url}");
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(&options, &url, &shared))
}

async fn run(options: &Options, url: &str, shared: &Shared) -> anyhow::Result<()> {
    let (rounds, length) = if options.quick { (1, 200) } else { (5, 2_000) };
    let length = Duration::from_millis(length);
    for callers in [1, 16] {
        throughput(url, callers, rounds, length).await?;
    }
    recovery(url, shared).await?;
    end_of_stream(url, shared, if options.quick { 20 } else { 500 }).await?;
    idle_clients(url, if options.quick { 50 } else { 1_000 }).await
}

/// Rounds of each contender in turn, so that what else the machine does hits all alike; the best round of each counts.
async fn throughput(url: &str, callers: usize, rounds: u32, length: Duration) -> anyhow::Result<()> {
    let contenders = [
        ("bare reqwest loop", Contender::bare(url).await?),
        ("oncewire", Contender::oncewire(url).await?),
        ("rmcp", Contender::rmcp(url).await?),
    ];
    let mut best: Vec<Option<Measured>> = contenders.iter().map(|_| None).collect();
    for round in 0..=rounds {
        for ((_, contender), best) in contenders.iter().zip(&mut best) {
            let measured = measure(contender, callers, length).await?;
            // The first round warms up.
            let better = best.as_ref().is_none_or(|best| best.per_second < measured.per_second);
            if round > 0 && better {
                *best = Some(measured);
            }
        }
    }
    println!("\n{callers} caller(s)          calls/s   of the bare loop        p50        p99");
    let bare = best.first().and_then(Option::as_ref).map_or(1.0, |bare| bare.per_second);
    for ((name, contender), best) in contenders.into_iter().zip(best) {
        if let Some(Measured { per_second, p50, p99 }) = best {
            println!("{name:<20} {per_second:>10.0} {:>18.2} {p50:>10.0?} {p99:>10.0?}", per_second / bare);
        }
        contender.close().await?;
    }
    Ok(())
}

async fn measure(contender: &Contender, callers: usize, length: Duration) -> anyhow::Result<Measured> {
    let began = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let contender = contender.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                while began.elapsed() < length {
                    let call = Instant::now();
                    contender.call().await?;
                    times.push(call.elapsed());
                }
                anyhow::Ok(times)
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let elapsed = began.elapsed();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "far fewer calls than 2^53")]
    let per_second = times.len() as f64 / elapsed.as_secs_f64();
    Ok(Measured { per_second, p50: at(50), p99: at(99) })
}

/// Requests from a lost session to the result of the call that saw it; the least possible after the lost one is three.
async fn recovery(url: &str, shared: &Shared) -> anyhow::Result<()> {
    let client = oncewire::Client::builder(url).connect().await?;
    client.call_tool("poke", json!({})).await?;
    shared.forget();
    let before = shared.posts.load(Ordering::SeqCst);
    let began = Instant::now();
    client.call_tool("poke", json!({})).await?;
    let requests = shared.posts.load(Ordering::SeqCst) - before - 1;
    println!("\nrecovery: {requests} requests after the refused one (the least is 3), {:.1?}", began.elapsed());
    client.close().await;
    Ok(())
}

/// From the end of a stream without an answer to the caller's error.
async fn end_of_stream(url: &str, shared: &Shared, times: usize) -> anyhow::Result<()> {
    let client = oncewire::Client::builder(url).connect().await?;
    let mut delays = Vec::new();
    for _ in 0..times {
        let outcome = client.call_tool("cut", json!({})).resend(oncewire::Resend::Never).await;
        let now = Instant::now();
        anyhow::ensure!(outcome.is_err_and(|error| error.may_have_executed()), "a lost answer was not told");
        if let Some(ended) = shared.ended.lock().await.take() {
            delays.push(now.saturating_duration_since(ended));
        }
    }
    delays.sort_unstable();
    let at = |share: usize| delays.get(delays.len() * share / 100).copied().unwrap_or_default();
    println!("end of a stream to the caller's error: p50 {:.0?}, p99 {:.0?}", at(50), at(99));
    client.close().await;
    Ok(())
}

/// Memory of clients that are connected and do nothing.
async fn idle_clients(url: &str, count: usize) -> anyhow::Result<()> {
    let before = resident()?;
    let mut clients = Vec::with_capacity(count);
    for _ in 0..count {
        clients.push(oncewire::Client::builder(url).connect().await?);
    }
    let after = resident()?;
    println!("{count} idle clients: {} KiB each", after.saturating_sub(before) / count);
    for client in clients {
        client.close().await;
    }
    Ok(())
}

/// Resident memory in KiB, where the system tells.
fn resident() -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or("VmRSS: 0");
    line.split_whitespace().nth(1).unwrap_or("0").parse().context("resident memory")
}
