//! What a tool, a resource or a prompt holds, as a terminal shows it, and as files.

mod pretty;
mod save;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(crate) use self::pretty::pretty;
pub(crate) use self::save::Folder;
use crate::failure::Failure;

/// A block of content, as it is shown.
pub(crate) fn shown(block: &Value, folder: Option<&Folder>) -> Result<String, Failure> {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    match text("type") {
        Some("text") => Ok(text("text").unwrap_or_default().to_owned()),
        Some(kind @ ("image" | "audio")) => {
            binary(text("data").unwrap_or_default(), text("mimeType").unwrap_or(kind), folder)
        }
        Some("resource") => match block.get("resource") {
            Some(resource) => shown_resource(resource, folder),
            None => Ok(pretty(&block.to_string())),
        },
        Some("resource_link") => {
            let kind = text("mimeType").map(|kind| format!(", {kind}")).unwrap_or_default();
            Ok(format!("[resource {}{kind}: {}]", text("name").unwrap_or_default(), text("uri").unwrap_or_default()))
        }
        _ => Ok(pretty(&block.to_string())),
    }
}

/// The contents of a resource, as they are shown.
pub(crate) fn shown_resource(resource: &Value, folder: Option<&Folder>) -> Result<String, Failure> {
    let text = |name: &str| resource.get(name).and_then(Value::as_str);
    match (text("text"), text("blob")) {
        (Some(text), _) => Ok(text.to_owned()),
        (None, Some(blob)) => binary(blob, text("mimeType").unwrap_or("application/octet-stream"), folder),
        (None, None) => Ok(pretty(&resource.to_string())),
    }
}

/// Bytes that came in base64; `None` if they did not.
pub(crate) fn decoded(base64: &str) -> Option<Vec<u8>> {
    STANDARD.decode(base64).ok()
}

/// The size and type of what is no text, and where it was saved.
fn binary(base64: &str, media_type: &str, folder: Option<&Folder>) -> Result<String, Failure> {
    let Some(bytes) = decoded(base64) else {
        return Ok(format!("[{media_type}, not in base64: {} characters]", base64.len()));
    };
    let size = bytes.len();
    match folder {
        Some(folder) => {
            let path = folder.save(&bytes, media_type)?;
            Ok(format!("[{media_type}, {size} bytes, saved as {}]", path.display()))
        }
        None => Ok(format!("[{media_type}, {size} bytes; --output FOLDER saves it]")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_case::test_case;

    use super::*;

    #[test_case(json!({"type": "text", "text": "a\nb"}), "a\nb"; "text")]
    #[test_case(json!({"type": "image", "data": "AAEC", "mimeType": "image/png"}), "[image/png, 3 bytes; --output FOLDER saves it]"; "an image")]
    #[test_case(json!({"type": "audio", "data": "?", "mimeType": "audio/wav"}), "[audio/wav, not in base64: 1 characters]"; "no base64")]
    #[test_case(json!({"type": "resource", "resource": {"uri": "a:b", "text": "within"}}), "within"; "a resource within")]
    #[test_case(json!({"type": "resource_link", "uri": "a:b", "name": "b"}), "[resource b: a:b]"; "a link")]
    #[test_case(json!({"type": "hologram"}), "{\n  \"type\": \"hologram\"\n}"; "what is not known")]
    fn a_block_is_shown(block: Value, expected: &str) {
        assert_eq!(shown(&block, None).unwrap(), expected);
    }

    #[test]
    fn what_is_no_text_is_saved_and_nothing_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().join("new"), "a/../b tool");
        let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
        let first = shown(&image, Some(&folder)).unwrap();
        let second = shown(&image, Some(&folder)).unwrap();
        assert!(first.contains("a-b-tool-1.png") && second.contains("a-b-tool-2.png"), "{first} {second}");
        assert_eq!(std::fs::read(dir.path().join("new/a-b-tool-1.png")).unwrap(), [0, 1, 2]);
    }
}
