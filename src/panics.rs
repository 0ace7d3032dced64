//! What a panic leaves in the log: where it happened, and never its words. Those of
//! the standard library quote the text that was cut in the middle of a character.

/// In force for every thread of the process from here on.
pub fn tell_only_where() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "the program panicked");
    }));
}
