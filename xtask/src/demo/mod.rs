//! stub
use anyhow::Result;
#[derive(clap::Args)]
pub(crate) struct Options {}
pub(crate) fn run(_: &Options) -> Result<bool> {
    tokio::runtime::Runtime::new()?.block_on(async {
        for peer in [crate::peers::python_mcp::start().await?, crate::peers::everything::start().await?] {
            let mut peer = peer.map_err(anyhow::Error::msg)?;
            println!(
                "{} {} {:?} {} {} {:?}",
                peer.title,
                peer.url(),
                peer.relay.session(),
                peer.relay.handshakes(),
                peer.relay.tool_calls(),
                peer.quick
            );
            peer.process.kill().await?;
            peer.process.start_again().await?;
            peer.relay.cut();
            peer.relay.freeze();
            println!(
                "{:?} {:?}",
                peer.slow,
                peer.ledger.until("x", |r| r.started == r.ended, std::time::Duration::from_secs(1)).await?
            );
        }
        Ok(true)
    })
}
