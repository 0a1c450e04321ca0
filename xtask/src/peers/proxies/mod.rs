//! Real proxies between the client and a backend that the script of a case makes run a tool and then fail: `trial.rs` has the situations,
//! `repeats.rs` what comes of a proxy that is told to repeat requests by itself, `configuration.rs` how each proxy is told what it must know.

mod certificate;
mod configuration;
mod repeats;
mod trial;

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Result};
use oncewire::{Client, ClientBuilder};

use self::certificate::Certificate;
use self::configuration::Ports;
use super::place::Place;
use super::process::{self, Launch, Process};
use super::{debian, install};

pub(crate) use self::repeats::{Repeating, SITUATIONS as REPEATS, all as repeated};
pub(crate) use self::trial::{SITUATIONS, all};

/// A proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    Haproxy,
    /// Of Debian 13, in a folder of its own.
    Haproxy3,
    Nginx,
    Apache,
    H2o,
    Caddy,
}

/// How a client reaches it. Behind it there is always HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// HTTP/2 over TLS.
    Http2,
    /// HTTP/1.1 without TLS.
    Http1,
}

/// A proxy that runs before a backend.
pub(crate) struct Front {
    process: Process,
    ports: Ports,
    certificate: Certificate,
    wire: Wire,
}

impl Proxy {
    /// The program and its Debian package.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Haproxy | Self::Haproxy3 => ("haproxy", "haproxy"),
            Self::Nginx => ("nginx", "nginx-light"),
            Self::Apache => ("apache2", "apache2"),
            Self::H2o => ("h2o", "h2o"),
            Self::Caddy => ("caddy", "caddy"),
        }
    }

    /// What it is called in the table. The versions are those of Debian 12, and of Debian 13 for the newer HAProxy: a repaired package of
    /// the same release is no other row.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Haproxy => "HAProxy 2.6",
            Self::Haproxy3 => "HAProxy 3.0",
            Self::Nginx => "nginx 1.22",
            Self::Apache => "Apache httpd 2.4",
            Self::H2o => "h2o 2.2",
            Self::Caddy => "Caddy 2.6",
        }
    }

    /// The words that start it, up to its arguments; the text says why it is not there.
    async fn words(self) -> Result<Result<Vec<OsString>, String>> {
        let (program, package) = self.program();
        if self == Self::Haproxy3 {
            return Ok(debian::unpacked(package, "trixie").await?.map(|root| root.program(program)));
        }
        Ok(match install::apt(package, program).await? {
            Some(problem) => Err(problem),
            None => Ok(vec![program.into()]),
        })
    }

    /// Starts it before a backend on this port; `special` is a part of its configuration. The text says why it is not there.
    pub(crate) async fn start(
        self,
        name: &str,
        backend: u16,
        wire: Wire,
        special: Option<Repeating>,
    ) -> Result<Result<Front, String>> {
        let words = match self.words().await? {
            Ok(words) => words,
            Err(problem) => return Ok(Err(problem)),
        };
        let folder = Place::free(name)?.front()?;
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let certificate = Certificate::write(&folder)?;
        let ports = Ports { plain: process::free_port()?, tls: process::free_port()?, backend };
        let file = folder.join("configuration");
        let text = configuration::of(self, ports, &folder, special);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        let process = Process::start(self.launch(words, ports.plain, &file, &folder)).await?;
        Ok(Ok(Front { process, ports, certificate, wire }))
    }

    /// One process in the foreground. It does not read its standard input: the kernel ends it when whoever started it is gone.
    fn launch(self, words: Vec<OsString>, port: u16, file: &Path, folder: &Path) -> Launch {
        let mut arguments: Vec<OsString> = vec!["--pdeathsig".into(), "KILL".into()];
        arguments.extend(words);
        match self {
            Self::Haproxy | Self::Haproxy3 => arguments.extend(["-db".into(), "-f".into(), file.into()]),
            Self::Nginx => {
                arguments.extend(["-e".into(), folder.join("error.log").into(), "-c".into(), file.into()]);
            }
            Self::Apache => arguments.extend(["-X".into(), "-f".into(), file.into()]),
            Self::H2o => arguments.extend(["-c".into(), file.into()]),
            Self::Caddy => {
                arguments.extend(["run", "--adapter", "caddyfile", "--config"].map(OsString::from));
                arguments.push(file.into());
            }
        }
        let home = |name| (name, folder.into());
        Launch {
            program: "setpriv".into(),
            arguments,
            environment: vec![home("HOME"), home("XDG_DATA_HOME"), home("XDG_CONFIG_HOME")],
            port,
            log: folder.join("output.log"),
        }
    }
}

impl Wire {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Http2 => "TLS and HTTP/2",
            Self::Http1 => "HTTP/1.1",
        }
    }
}

impl Front {
    /// A client that goes through it.
    fn client(&self) -> ClientBuilder {
        match self.wire {
            Wire::Http2 => Client::builder(format!("https://127.0.0.1:{}/mcp", self.ports.tls))
                .root_certificates(self.certificate.authority())
                .http2_only()
                .no_proxy(),
            Wire::Http1 => Client::builder(format!("http://127.0.0.1:{}/mcp", self.ports.plain)).no_proxy(),
        }
    }

    async fn end(&mut self) -> Result<()> {
        self.process.kill().await
    }
}
