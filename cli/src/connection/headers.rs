//! Headers and the token: from the environment and from files, so that no secret stands in a list of processes.

use std::path::PathBuf;

use clap::Args;
use oncewire::ClientBuilder;

use super::value::{expanded, text_of, variable};
use crate::failure::BadInput;

/// Names of headers whose values are secrets, and parts of such names.
const SECRET: [&str; 7] = ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey"];

/// Who we are to the server.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Headers and tokens")]
pub(crate) struct HeaderOptions {
    /// One more header on every request; `${NAME}` in the value is read from the environment. No secret in the open: use one of those below
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,

    /// One more header, with the value of a variable of the environment
    #[arg(long, value_name = "NAME=VARIABLE")]
    header_env: Vec<String>,

    /// A file of headers, `NAME: VALUE` on each line; empty lines and those that begin with `#` are left out
    #[arg(long, alias = "header-file", value_name = "FILE")]
    headers_file: Option<PathBuf>,

    /// The variable of the environment that holds the bearer token
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["token_file", "oauth"])]
    token_env: Option<String>,

    /// The file that holds the bearer token; read again whenever the server refuses the token
    #[arg(long, value_name = "FILE", conflicts_with = "oauth")]
    token_file: Option<PathBuf>,

    /// Refused: everybody on the machine could read it
    #[arg(long, value_name = "TOKEN", hide = true)]
    token: Option<String>,
}

impl HeaderOptions {
    /// The builder with all of them.
    pub(super) fn apply(&self, mut builder: ClientBuilder) -> Result<ClientBuilder, BadInput> {
        if self.token.is_some() {
            let problem = "every user of this machine can read it in the list of processes; put it into a variable of the environment \
                and name that (--token-env NAME), or into a file (--token-file FILE)";
            return Err(BadInput::new("--token", problem));
        }
        for (name, value) in self.all()? {
            builder = builder.header(name, value);
        }
        if let Some(name) = &self.token_env {
            let token = variable("--token-env", name)?;
            if token.trim().is_empty() {
                return Err(BadInput::new("--token-env", format!("the variable {name} is empty")));
            }
            builder = builder.token(token.trim());
        }
        if let Some(path) = &self.token_file {
            let read = |path: &PathBuf| -> Result<String, BadInput> {
                let token = text_of("--token-file", path)?.trim().to_owned();
                if token.is_empty() {
                    return Err(BadInput::new("--token-file", format!("{} is empty", path.display())));
                }
                Ok(token)
            };
            // A file that cannot be read is told before anything is sent; later it may have been replaced.
            read(path)?;
            let path = path.clone();
            builder = builder.token_provider(move |_| {
                let read = read(&path).map_err(|error| error.to_string().into());
                std::future::ready(read)
            });
        }
        Ok(builder)
    }

    /// Is there a token, or a header that stands for one?
    pub(super) fn logs_in(&self) -> bool {
        let is_authorization = |text: &str| {
            let name = text.split([':', '=']).next().unwrap_or_default();
            name.trim().eq_ignore_ascii_case("authorization")
        };
        self.token_env.is_some()
            || self.token_file.is_some()
            || self.header.iter().chain(&self.header_env).any(|text| is_authorization(text))
            || self.headers_file.as_ref().is_some_and(|path| {
                text_of("--headers-file", path).is_ok_and(|text| text.lines().any(is_authorization))
            })
    }

    /// The headers, in their order.
    fn all(&self) -> Result<Vec<(String, String)>, BadInput> {
        let mut all = Vec::new();
        for text in &self.header {
            let (name, value) = parted("--header", text)?;
            if !value.contains("${") && is_secret(&name) {
                let problem = format!(
                    "the value of {name} is a secret, and every user of this machine can read it here; put it into a variable of the environment: \
                     --header-env {name}=VARIABLE, or --header '{name}: ${{VARIABLE}}', or into a file (--headers-file FILE)"
                );
                return Err(BadInput::new("--header", problem));
            }
            all.push((name, expanded("--header", &value)?));
        }
        for text in &self.header_env {
            let Some((name, of)) = text.split_once('=') else {
                return Err(BadInput::new("--header-env", "it is not NAME=VARIABLE"));
            };
            all.push((name.trim().to_owned(), variable("--header-env", of.trim())?));
        }
        if let Some(path) = &self.headers_file {
            let text = text_of("--headers-file", path)?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            for line in lines {
                all.push(parted("--headers-file", line)?);
            }
        }
        Ok(all)
    }
}

/// Is what has this name a secret, as far as a name can tell?
pub(super) fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase().replace('_', "-");
    SECRET.iter().any(|part| lower.contains(part))
}

/// Name and value of `NAME: VALUE`.
fn parted(argument: &str, text: &str) -> Result<(String, String), BadInput> {
    let (name, value) =
        text.split_once(':').ok_or_else(|| BadInput::new(argument, "a header is written NAME: VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn header(text: &str) -> Result<Vec<(String, String)>, BadInput> {
        HeaderOptions { header: vec![text.to_owned()], ..HeaderOptions::default() }.all()
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        assert_eq!(header("x-team: blue: green").unwrap(), [("x-team".to_owned(), "blue: green".to_owned())]);
        assert!(header("x-team").unwrap_err().to_string().contains("NAME: VALUE"));
    }

    #[test_case("Authorization: Bearer s3cret")]
    #[test_case("X-Api-Key: s3cret")]
    #[test_case("cookie: a=s3cret")]
    fn a_secret_in_the_open_is_refused_and_the_better_way_is_named(text: &str) {
        let error = header(text).unwrap_err().to_string();
        assert!(error.contains("--header-env") && !error.contains("s3cret"), "{error}");
    }

    #[test]
    fn a_token_in_the_open_is_refused() {
        let options = HeaderOptions { token: Some("s3cret".into()), ..HeaderOptions::default() };
        let error = options.apply(oncewire::Client::builder("http://a.example/")).unwrap_err().to_string();
        assert!(
            error.starts_with("--token: ") && error.contains("--token-env") && !error.contains("s3cret"),
            "{error}"
        );
    }

    #[test]
    fn headers_in_a_file_may_be_secret() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "# ours\n\nAuthorization: Bearer s3cret\nx-team: blue\n").unwrap();
        let options = HeaderOptions { headers_file: Some(file.path().to_owned()), ..HeaderOptions::default() };
        assert_eq!(options.all().unwrap().len(), 2);
        assert!(options.logs_in());
    }
}
