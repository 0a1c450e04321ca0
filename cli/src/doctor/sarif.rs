//! The report as SARIF 2.1.0, which code hosts show beside a change.

use serde_json::{Value, json};

use super::catalog::CHECKS;
use super::report::{Report, Severity};

/// The findings of all servers as one run.
pub(super) fn sarif(report: &Report) -> Value {
    let level = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let rules: Vec<_> = CHECKS
        .iter()
        .map(|check| {
            json!({
                "id": check.id,
                "shortDescription": { "text": check.title },
                "help": { "text": check.fix },
                "defaultConfiguration": { "level": level(check.severity) },
            })
        })
        .collect();
    let results: Vec<_> = report
        .servers
        .iter()
        .flat_map(|server| {
            server.findings.iter().map(move |finding| {
                json!({
                    "ruleId": finding.check,
                    "level": level(finding.severity),
                    "message": { "text": format!("{}: {}. Fix: {}", finding.title, finding.detail, finding.fix) },
                    "locations": [{
                        "logicalLocations": [{ "name": server.name.as_deref().unwrap_or(&server.target), "fullyQualifiedName": server.target }],
                    }],
                })
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "oncewire doctor", "version": report.tool.version, "rules": rules } },
            "results": results,
        }],
    })
}
