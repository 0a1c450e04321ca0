//! Asking for more scopes (MCP 2026-07-28, basic, authorization, scope challenge handling): those of before stay, so that two tools that
//! want different ones do not take each other's away, and it ends.

use super::authorize::words;
use super::classify;
use super::error::LoginError;

/// How often one client adds scopes before it is told to a person.
pub(crate) const STEP_UPS: u32 = 3;

/// Do these scopes hold all that is wanted?
pub(crate) fn holds(scopes: &[String], wanted: &str) -> bool {
    let mut wanted = words(wanted).peekable();
    wanted.peek().is_some() && wanted.all(|scope| scopes.contains(&scope))
}

/// The scopes of before, which the next login has to hold besides what the server asks for now.
///
/// # Errors
/// They were asked for before, or scopes were added too often: a person has to look at it.
pub(crate) fn step_up(
    asked: &[String],
    granted: &[String],
    wanted: &str,
    so_far: u32,
) -> Result<Vec<String>, LoginError> {
    let said = classify::said(wanted);
    if so_far >= STEP_UPS {
        return Err(LoginError::lasting(format!(
            "the server asks for more scopes ({said}), and scopes were added {STEP_UPS} times already"
        )));
    }
    if holds(asked, wanted) {
        return Err(LoginError::lasting(format!(
            "the server asks for scopes ({said}) that this login was already asked for, and refuses it all the same"
        )));
    }
    let mut all = asked.to_vec();
    all.extend(granted.iter().filter(|scope| !asked.contains(scope)).cloned());
    Ok(all)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn of(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn scopes_are_added_and_none_is_given_up() {
        assert_eq!(step_up(&of(&["a"]), &of(&["a", "g"]), "b", 0).unwrap(), of(&["a", "g"]));
    }

    #[test_case("a", 0; "what was asked for already")]
    #[test_case("b", 3; "a fourth time")]
    fn it_ends(wanted: &str, so_far: u32) {
        assert!(step_up(&of(&["a"]), &[], wanted, so_far).is_err());
    }

    #[test_case("a b", true; "all of them")]
    #[test_case("a", true; "some of them")]
    #[test_case("a c", false; "one that is not there")]
    #[test_case("", false; "none in particular")]
    fn which_scopes_hold(wanted: &str, expected: bool) {
        assert_eq!(holds(&of(&["a", "b"]), wanted), expected);
    }
}
