//! How a request fails: the `error` event's three texts. Separate because every stage ends in it.

use std::path::Path;

/// What an `error` event says. `status` is core's name when a core call failed, else one of the protocol's own words.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: String,
    pub message: String,
    /// file:line, key, tensor or update; "" until somebody who knows fills it in.
    pub place: String,
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn new(status: &str, message: impl Into<String>, place: impl Into<String>) -> Failure {
        Failure { status: status.to_string(), message: message.into(), place: place.into() }
    }

    /// The operating system refused a file.
    pub fn io(path: &Path, error: &std::io::Error) -> Failure {
        Failure::new("io", format!("{}: {error}", path.display()), path.display().to_string())
    }
}

impl From<hexapla::Error> for Failure {
    fn from(error: hexapla::Error) -> Failure {
        Failure::new(error.status().name(), error.message(), "")
    }
}

/// Say where something failed, unless what failed said so itself.
pub trait At<T> {
    fn at(self, place: impl Into<String>) -> Outcome<T>;
}

impl<T, E: Into<Failure>> At<T> for Result<T, E> {
    fn at(self, place: impl Into<String>) -> Outcome<T> {
        self.map_err(|error| {
            let mut failure = error.into();
            if failure.place.is_empty() {
                failure.place = place.into();
            }
            failure
        })
    }
}
