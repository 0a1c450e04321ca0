//! The servers of one scenario, and what can be done to them from outside.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::authorization::Authorities;
use crate::server::{Cut, Era, FaultServer, Ledger, Push, Rule, Script, Urls};
use crate::vector::{LedgerExpect, Report, Vector, judge};

/// Nothing that a scenario waits for takes this long; if it does, the scenario is wrong or the client is.
const PATIENCE: Duration = Duration::from_secs(15);
/// After `close` the sockets must be gone; the system needs a moment to say so.
const SOCKETS_GONE: Duration = Duration::from_secs(2);

/// Something done to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Forgets all sessions, and leaves the connections as they are.
    ForgetSessions,
    /// The process is replaced: connections cut, sessions forgotten, the same port.
    Restart,
    /// Becomes a server of another era, which knows no session. Connections stay.
    Become(Era),
    /// Closes the port and cuts every connection.
    GoDown,
    /// Opens the port.
    ComeUp,
    /// Goes down now, and comes up by itself.
    GoDownMs(u64),
    /// Cuts every connection.
    CutConnections(Cut),
    /// From now on only these tokens are accepted.
    AcceptTokens(Vec<String>),
    /// Changes options for requests to come.
    SetOptions(serde_json::Map<String, Value>),
    /// Replaces the rules.
    SetRules(Vec<Rule>),
    /// Puts rules before those that are there.
    AddRules(Vec<Rule>),
    /// Takes the rules with this name away.
    DropRule(String),
    /// Opens a gate.
    Release(String),
    /// Waits until a script has come to a gate or mark.
    AwaitGate(AwaitGate),
    /// Waits until the ledger is like this.
    Await(LedgerExpect),
    /// Sends a message on every open GET stream, and on those of `subscriptions/listen` that let it through; fails if there is none.
    Push(Push),
    /// Ends the streams of `subscriptions/listen` properly; fails if there is none.
    EndSubscriptions,
    /// No access token that the authorization server issued so far is good any more; the logins live on.
    ExpireAccessTokens,
    /// Ends every login that it gave.
    RevokeLogins,
    /// Its proofs of possession need another nonce from now on.
    ChangeNonce,
    /// Lets time pass. Only for scenarios about time.
    PauseMs(u64),
}

/// Which gate, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwaitGate {
    /// Its name.
    pub gate: String,
    /// How often it must have been reached; once if absent.
    #[serde(default = "once")]
    pub times: u64,
}

fn once() -> u64 {
    1
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddress {
    /// The MCP endpoint.
    pub url: String,
    /// The port.
    pub port: u16,
}

/// The servers of one scenario.
#[derive(Debug)]
pub struct Scenario {
    servers: BTreeMap<String, FaultServer>,
    vector: Option<Vector>,
}

impl Scenario {
    /// Completes when the scenario was dropped and the ports of its servers are closed.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let servers: Vec<_> = self.servers.values().map(FaultServer::ended).collect();
        async move {
            for server in servers {
                server.await;
            }
        }
    }

    /// Starts servers that know each other's URLs.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn start(scripts: BTreeMap<String, Script>) -> Result<Self> {
        let urls = Urls::default();
        let authorities = Authorities::default();
        let mut servers = BTreeMap::new();
        for (name, script) in scripts {
            let server =
                FaultServer::start_named(&name, script, Urls::clone(&urls), Authorities::clone(&authorities)).await?;
            servers.insert(name, server);
        }
        Ok(Self { servers, vector: None })
    }

    /// Starts the servers of a vector, and keeps its expectations for [`Scenario::judge`].
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn of(vector: Vector) -> Result<Self> {
        let mut scenario = Self::start(vector.servers.clone()).await?;
        scenario.vector = Some(vector);
        Ok(scenario)
    }

    /// The server with this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn server(&self, name: &str) -> Result<&FaultServer> {
        self.servers.get(name).with_context(|| format!("there is no server {name}"))
    }

    /// Where the servers are.
    pub fn addresses(&self) -> BTreeMap<String, ServerAddress> {
        let address = |server: &FaultServer| ServerAddress { url: server.url().to_owned(), port: server.port() };
        self.servers.iter().map(|(name, server)| (name.clone(), address(server))).collect()
    }

    /// The ledgers of all servers.
    pub fn ledgers(&self) -> BTreeMap<String, Ledger> {
        self.servers.iter().map(|(name, server)| (name.clone(), server.ledger())).collect()
    }

    /// Does something to a server; returns when it is done.
    ///
    /// # Errors
    /// If there is no such server, if what is waited for does not come, or if what is asked makes no sense.
    pub async fn control(&self, on: &str, action: &Control) -> Result<()> {
        let server = self.server(on)?;
        match action {
            Control::ForgetSessions => server.forget_sessions(),
            Control::Restart => server.restart().await,
            Control::Become(era) => server.become_era(*era),
            Control::GoDown => server.go_down().await,
            Control::ComeUp => server.come_up().await,
            Control::GoDownMs(ms) => server.go_down_for_ms(*ms),
            Control::CutConnections(how) => server.cut_connections(*how),
            Control::AcceptTokens(tokens) => server.accept_tokens(tokens.iter().cloned()),
            Control::SetOptions(members) => server.merge_options(members)?,
            Control::SetRules(rules) => server.set_rules(rules.clone()),
            Control::AddRules(rules) => server.add_rules(rules.clone()),
            Control::DropRule(name) => {
                if !server.drop_rule(name) {
                    bail!("there is no rule {name}");
                }
            }
            Control::Release(gate) => server.release(gate),
            Control::AwaitGate(AwaitGate { gate, times }) => {
                let reached = tokio::time::timeout(PATIENCE, server.reached(gate, *times)).await;
                reached.with_context(|| format!("gate {gate} was not reached {times} times"))?;
            }
            Control::Await(expected) => {
                let is = server.until(|ledger| crate::vector::ledger_is(expected, ledger));
                if tokio::time::timeout(PATIENCE, is).await.is_err() {
                    let arrivals: Vec<_> =
                        server.ledger().arrivals.iter().map(|a| (a.rpc.clone(), a.name.clone())).collect();
                    bail!("the ledger did not become {expected:?}; it has {arrivals:?}");
                }
            }
            Control::Push(push) => {
                if server.push(push) == 0 {
                    bail!("there is no open stream to push to");
                }
            }
            Control::EndSubscriptions => {
                if server.end_subscriptions() == 0 {
                    bail!("there is no open stream of subscriptions/listen");
                }
            }
            Control::ExpireAccessTokens => server.expire_access_tokens(),
            Control::RevokeLogins => server.revoke_logins(),
            Control::ChangeNonce => server.change_nonce(),
            Control::PauseMs(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        }
        Ok(())
    }

    /// Everything that is wrong, now that the client is closed; nothing if all is well.
    ///
    /// # Errors
    /// If the scenario was not started from a vector.
    pub async fn judge(&self, report: &Report) -> Result<Vec<String>> {
        let vector = self.vector.as_ref().context("this scenario has no expectations")?;
        for server in self.servers.values() {
            let closed = server.until(|ledger| ledger.connections.open == 0);
            // If it does not come true, the judge says so.
            let _ = tokio::time::timeout(SOCKETS_GONE, closed).await;
        }
        Ok(judge(vector, report, &self.ledgers()))
    }
}
