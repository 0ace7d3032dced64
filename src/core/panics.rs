//! What a panic logs: its location, and never its message. The standard library's messages may quote user
//! text, such as a string that was sliced inside a character.

/// Sets the panic hook, for all threads of the process.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "the program panicked");
    }));
}
