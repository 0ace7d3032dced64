//! libFuzzer around the targets of src/tests/fuzz. tools/fuzz.py builds it with
//! coverage and runs it: KEEPSAKE_FUZZ names the target.

#![no_main]
// libFuzzer calls a function by its name.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used)]

#[path = "../../src/tests/fuzz/targets.rs"]
mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

fn run() -> fn(&[u8]) {
    static RUN: OnceLock<fn(&[u8])> = OnceLock::new();
    *RUN.get_or_init(|| {
        let name = std::env::var("KEEPSAKE_FUZZ").expect("the name of a target");
        let target = targets::ALL.iter().find(|target| target.name == name);
        target.unwrap_or_else(|| panic!("{name} is no target")).run
    })
}

fuzz_target!(|data: &[u8]| run()(data));
