//! What the sessions use of the library, where it is more than they need here.

pub(crate) mod config {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(crate) enum Recovery {
        Auto,
        Surface,
        Off,
    }
}

pub(crate) mod outcome {
    pub(crate) use oncewire::Kind;
}

pub(crate) mod protocol {
    pub(crate) mod results {
        #[derive(Debug)]
        pub(crate) struct InitializeResult;
    }

    pub(crate) mod era {
        pub(crate) use oncewire::Lifecycle;
    }
}

pub(crate) mod policy {
    pub(crate) mod decide {
        pub(crate) use oncewire::policy::decide::SessionStanding;
    }

    /// No gaps: time stands still here.
    pub(crate) mod backoff {
        use std::time::Duration;

        #[derive(Clone, Copy, Debug)]
        pub(crate) struct BackoffBounds;

        impl BackoffBounds {
            pub(crate) fn capped(self, _max: Duration) -> Self {
                self
            }
        }

        #[derive(Debug)]
        pub(crate) struct Backoff;

        impl Backoff {
            pub(crate) fn new(_bounds: BackoffBounds) -> Self {
                Self
            }

            pub(crate) fn next_delay(&mut self) -> Duration {
                Duration::ZERO
            }

            pub(crate) fn reset(&mut self) {}
        }
    }
}

pub(crate) mod event {
    pub(crate) use oncewire::EventName;

    use super::outcome::Kind;

    #[derive(Clone, Debug)]
    #[allow(dead_code, reason = "for whoever reads a failure")]
    pub(crate) struct Event {
        pub(crate) event: EventName,
        pub(crate) generation: u64,
        pub(crate) kind: Option<Kind>,
        pub(crate) http_status: Option<u16>,
        pub(crate) reason: Option<String>,
    }

    impl Event {
        pub(crate) fn of_generation(event: EventName, generation: u64) -> Self {
            Self { event, generation, kind: None, http_status: None, reason: None }
        }

        pub(crate) fn because(self, reason: String) -> Self {
            Self { reason: Some(reason), ..self }
        }
    }
}
