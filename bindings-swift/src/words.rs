//! Words of options that mean the same as the core's.

use oncewire::{Era, Recovery, Resend, TrustAnnotations};

/// Words that mean the same as the core's.
macro_rules! mirrored {
    ($($(#[$doc:meta])* $mirror:ident of $core:ident { $($(#[$variant_doc:meta])* $variant:ident),+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, uniffi::Enum)]
        pub enum $mirror { $($(#[$variant_doc])* $variant),+ }

        impl From<$mirror> for $core {
            fn from(given: $mirror) -> Self {
                match given { $($mirror::$variant => Self::$variant),+ }
            }
        }
    )+};
}

mirrored! {
    /// The caller's word on sending a call again after an ambiguous loss.
    ResendOption of Resend {
        /// Repeating is safe.
        Always,
        /// The method and the tool's hints decide.
        Default,
        /// Only with proof that it did not run.
        Never
    }
    /// What to do when the server has lost the session.
    RecoveryOption of Recovery {
        /// Replace it.
        Auto,
        /// Report it until `recover()` is called.
        Surface,
        /// Report it each time.
        Off
    }
    /// Which of a server's tool hints are believed.
    TrustAnnotationsOption of TrustAnnotations {
        /// None of them.
        None,
        /// `readOnlyHint` only.
        ReadOnly,
        /// `readOnlyHint` and `idempotentHint`.
        Hinted
    }
    /// Which era to speak.
    EraOption of Era {
        /// What the server speaks.
        Auto,
        /// The one with a handshake.
        Legacy,
        /// The one without.
        Modern
    }
}
