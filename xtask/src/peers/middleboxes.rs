//! What stands in front of a server: Debian's nginx and haproxy, each before PyPI `mcp`. They answer for a server that is gone, and cannot
//! know what it did before.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::install;
use super::place::Place;
use super::process::{self, Launch};
use super::python_mcp::{self, Answers};
use super::recipe::Launches;

/// A middlebox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Middlebox {
    Nginx,
    Haproxy,
}

impl Middlebox {
    fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Nginx => "nginx-light",
            Self::Haproxy => "haproxy",
        }
    }

    /// What it is called in the output.
    pub(crate) fn title(self, version: &str, answers: Answers) -> String {
        let how = if answers == Answers::Json { ", JSON answers" } else { "" };
        format!("{} before PyPI mcp {version}{how}", self.program())
    }

    /// Installs it if need be and may be, and says how to start it in front of a server; the text says why there is none.
    pub(crate) async fn launches(
        self,
        place: &Place,
        version: &str,
        answers: Answers,
    ) -> Result<Result<Launches, String>> {
        if let Some(problem) = install::apt(self.package(), self.program()).await? {
            return Ok(Err(problem));
        }
        let server = match python_mcp::launch(place, version, answers).await? {
            Ok(server) => server,
            Err(problem) => return Ok(Err(problem)),
        };
        let folder = place.front()?;
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let port = process::free_port()?;
        let file = folder.join("configuration");
        let configuration = self.configuration(port, server.port, &folder);
        std::fs::write(&file, configuration).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Ok(Launches { server, front: Some(self.launch(port, file, &folder)) }))
    }

    /// One process in the foreground. It does not read its standard input: the kernel ends it when whoever started it is gone.
    fn launch(self, port: u16, configuration: PathBuf, folder: &Path) -> Launch {
        let mut arguments = vec!["--pdeathsig".into(), "KILL".into(), self.program().into()];
        match self {
            Self::Nginx => {
                arguments.extend(["-e".into(), folder.join("error.log").into()]);
                arguments.extend(["-c".into(), configuration.into()]);
            }
            Self::Haproxy => arguments.extend(["-db".into(), "-f".into(), configuration.into()]),
        }
        Launch { program: "setpriv".into(), arguments, environment: Vec::new(), port, log: folder.join("output.log") }
    }

    fn configuration(self, port: u16, server: u16, folder: &Path) -> String {
        match self {
            Self::Nginx => nginx(port, server, folder),
            Self::Haproxy => haproxy(port, server),
        }
    }
}

fn nginx(port: u16, server: u16, folder: &Path) -> String {
    let at = |name: &str| format!("\"{}\"", folder.join(name).display());
    let (pid, error, body, proxy) = (at("pid"), at("error.log"), at("body"), at("proxy"));
    let (fastcgi, uwsgi, scgi) = (at("fastcgi"), at("uwsgi"), at("scgi"));
    format!(
        "daemon off;
master_process off;
pid {pid};
error_log {error};
events {{}}
http {{
    access_log off;
    client_body_temp_path {body};
    proxy_temp_path {proxy};
    fastcgi_temp_path {fastcgi};
    uwsgi_temp_path {uwsgi};
    scgi_temp_path {scgi};
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{server};
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host 127.0.0.1:{server};
            proxy_buffering off;
        }}
    }}
}}
"
    )
}

fn haproxy(port: u16, server: u16) -> String {
    format!(
        "defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    retries 0
listen front
    bind 127.0.0.1:{port}
    http-request set-header Host 127.0.0.1:{server}
    server upstream 127.0.0.1:{server}
"
    )
}
