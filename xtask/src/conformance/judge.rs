//! What a run of a scenario is worth.

use super::suite::{Check, Ran};

/// How many checks succeeded, or what is wrong.
///
/// A scenario in which a client did nothing has no check that failed, and the suite calls that a success: so at least one must have succeeded. A
/// warning is about something that the specification asks for without insisting; a client that knows better has to say why first.
pub(crate) fn judge(ran: &Ran) -> Result<usize, String> {
    let bad: Vec<_> = ran.checks.iter().filter(|check| is_bad(check)).map(|check| format!("  {check}")).collect();
    let succeeded = ran.checks.iter().filter(|check| check.status == "SUCCESS").count();
    if !bad.is_empty() {
        return Err(format!("{} of {} checks did not hold\n{}", bad.len(), ran.checks.len(), bad.join("\n")));
    }
    if succeeded == 0 {
        return Err("nothing was checked".into());
    }
    if !ran.status.success() {
        return Err(format!("all checks succeeded, but {}", ran.status));
    }
    Ok(succeeded)
}

/// Whatever the suite may come to say besides.
fn is_bad(check: &Check) -> bool {
    !matches!(check.status.as_str(), "SUCCESS" | "INFO" | "SKIPPED")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn ran(statuses: &[&str], exit: i32) -> Ran {
        let check = |status: &&str| Check { id: "some-check".into(), status: (*status).into(), ..Check::default() };
        let checks = statuses.iter().map(check).collect();
        Ran { checks, status: ExitStatus::from_raw(exit << 8), said: String::new() }
    }

    #[test]
    fn what_succeeded_is_counted() {
        assert_eq!(judge(&ran(&["SUCCESS", "INFO", "SKIPPED", "SUCCESS"], 0)), Ok(2));
    }

    #[test]
    fn nothing_that_failed_is_not_enough() {
        for statuses in [&[][..], &["INFO", "SKIPPED"]] {
            assert_eq!(judge(&ran(statuses, 0)), Err("nothing was checked".into()));
        }
    }

    #[test]
    fn one_bad_check_is_too_many() {
        for status in ["FAILURE", "WARNING", "UNHEARD OF"] {
            let problem = judge(&ran(&["SUCCESS", status], 0)).unwrap_err();
            assert!(problem.contains("some-check") && problem.contains(status), "{problem}");
        }
    }

    #[test]
    fn a_client_that_fails_afterwards_has_failed() {
        assert!(judge(&ran(&["SUCCESS"], 1)).is_err());
    }
}
