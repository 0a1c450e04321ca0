//! What a server is made with, as far as its answer to a lost session tells: servers made with one package say it in its words.

use oncewire::diagnose::Told;

use super::answer::header;
use super::facts::Facts;
use super::report::Family;

/// How an answer to a session that is not known looks.
struct Look {
    family: &'static str,
    evidence: &'static str,
    status: u16,
    code: Option<i64>,
    /// What the body holds, in small letters.
    holds: &'static str,
    /// Whether there is a content type.
    typed: Option<bool>,
}

const fn look(
    family: &'static str,
    status: u16,
    code: Option<i64>,
    holds: &'static str,
    evidence: &'static str,
) -> Look {
    Look { family, evidence, status, code, holds, typed: None }
}

/// The first that fits is it. Those that share their words with others stand behind them, and name all.
const LOOKS: [Look; 19] = [
    look(
        "PyPI mcp 1.x, or fastmcp up to 3",
        404,
        Some(-32600),
        "\"id\":\"server-error\"",
        "the id \"server-error\" in its refusal of a lost session",
    ),
    look("PHP SDK", 404, Some(-32600), "session not found or has expired", "its words for a lost session"),
    look("Swift SDK", 404, Some(-32600), "invalid or expired session id", "its words for a lost session"),
    look("Swift SDK", 404, Some(-32600), "session has been terminated", "its words for a lost session"),
    look("crates.io pmcp", 404, Some(-32600), "unknown session id", "its words for a lost session"),
    look(
        "PyPI mcp 2.x, fastmcp 4, or the Ruby SDK",
        404,
        Some(-32600),
        "session not found",
        "code and words for a lost session",
    ),
    look("npm n8n-mcp", 404, Some(-32000), "session not found or expired", "its words for a lost session"),
    Look {
        typed: Some(false),
        ..look(
            "Cloudflare agents, or npm mcp-framework",
            404,
            Some(-32001),
            "session not found",
            "words for a lost session, without a content type",
        )
    },
    look(
        "TypeScript SDK (npm @modelcontextprotocol/sdk or server), or what is built on it",
        404,
        Some(-32001),
        "session not found",
        "code and words for a lost session",
    ),
    look(
        "TypeScript SDK, one transport for the process",
        400,
        Some(-32000),
        "server not initialized",
        "its words for a lost session",
    ),
    look(
        "TypeScript SDK, sessions by hand as in its examples (server-everything, npm @mastra/mcp)",
        400,
        Some(-32000),
        "no valid session id provided",
        "its words for a lost session",
    ),
    look("PyPI aiohttp-mcp", 400, None, "no valid session id provided", "its words for a lost session"),
    look("C# SDK, without sessions", 400, None, "is not supported in stateless mode", "its words for a session id"),
    look("Java SDK or Spring AI", 404, None, "jsonrpcerror", "an exception, written out, for a lost session"),
    Look {
        typed: Some(false),
        ..look(
            "crates.io rmcp",
            404,
            None,
            "not found: session not found",
            "its words for a lost session, without a content type",
        )
    },
    look("crates.io rmcp", 404, None, "not found: session not found", "its words for a lost session"),
    look("mcp-go", 404, None, "invalid session id", "its words for a lost session"),
    look("mcp-go", 404, None, "session terminated", "its words for a lost session"),
    look("Go SDK, or agentgateway", 404, None, "session not found", "its words for a lost session, in plain text"),
];

/// The family of the server; none if nothing tells.
pub(super) fn family(facts: &Facts, unknown_session: Option<&Told>) -> Option<Family> {
    let named = facts.era.as_ref().and_then(|era| era.server_name.as_deref());
    let by_name = match named {
        Some("mcp-servers/everything") => Some(Family {
            name: "npm @modelcontextprotocol/server-everything",
            evidence: "the name that it gives itself",
        }),
        _ => None,
    };
    by_name.or_else(|| unknown_session.and_then(by_words))
}

fn by_words(told: &Told) -> Option<Family> {
    let status = told.status?;
    let typed = header(told, "content-type").is_some();
    let body: String = told.text.to_ascii_lowercase().chars().filter(|sign| !sign.is_control()).collect();
    let body = body.replace("\"id\": ", "\"id\":");
    let code = told.error.as_ref().filter(|error| error.well_formed).map(|error| error.code);
    let fits = |look: &&Look| {
        look.status == status
            && look.code == code
            && body.contains(look.holds)
            && look.typed.is_none_or(|wanted| wanted == typed)
    };
    let look = LOOKS.iter().find(fits)?;
    // The C# SDK answers with the id of the request, and the TypeScript SDK never does.
    if code == Some(-32001) && told.error.as_ref().is_some_and(|error| error.ours) {
        return Some(Family {
            name: "C# SDK",
            evidence: "code and words for a lost session, under the id of the request",
        });
    }
    Some(Family { name: look.family, evidence: look.evidence })
}
