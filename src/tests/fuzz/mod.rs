//! Each target with thousands of inputs: what chance makes of nothing (proptest, which
//! shrinks what it finds), and what it makes of good input. `make check` goes on
//! from there, guided by coverage (tools/fuzz.py).

mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use targets::{ALL, Target};

const MADE: u32 = 1_500;
const MUTATED: usize = 6_000;
const BYTES_MAX: usize = 4_096;
/// Characters that parsers stumble over more often than chance finds them.
#[rustfmt::skip]
const AWKWARD: [&str; 24] = [
    "\0", "\u{7f}", "\u{85}", "\u{200b}", "\u{202e}", "\u{feff}", "\u{fffd}", "\u{10ffff}",
    "e\u{301}", "ﬃ", "İ", "ß", "ﷺ", "日", "の", "🧠",
    "-", "'", "\\", "\"", "{", "[", "9999999999999999999", ".",
];

fn target(name: &str) -> &'static Target {
    ALL.iter().find(|t| t.name == name).unwrap()
}

/// What proptest makes: any text, text of awkward pieces, and any bytes.
fn made_of_nothing(target: &Target) {
    let pieces = prop_oneof![
        prop::sample::select(&AWKWARD[..]).prop_map(str::to_owned),
        prop::sample::select(target.seeds).prop_map(str::to_owned),
        any::<String>(),
        any::<char>().prop_map(String::from),
    ];
    let texts = prop::collection::vec(pieces, 0..24).prop_map(|all| all.concat().into_bytes());
    let anything = prop_oneof![texts, prop::collection::vec(any::<u8>(), 0..256)];
    let config = Config { cases: MADE, failure_persistence: None, ..Config::default() };
    let ran = TestRunner::new(config).run(&anything, |data| {
        (target.run)(&data);
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{}: {error}", target.name));
}

/// Good input, cut, doubled, spliced and flipped.
fn mutated(target: &Target) {
    let seed: u64 = rand::rng().random();
    let mut rng = StdRng::seed_from_u64(seed);
    let pick = |rng: &mut StdRng| {
        let seed = target.seeds[rng.random_range(0..target.seeds.len())];
        seed.as_bytes().to_vec()
    };
    for _ in 0..MUTATED {
        let mut data = pick(&mut rng);
        for _ in 0..rng.random_range(1..8) {
            let at = rng.random_range(0..=data.len());
            let end = rng.random_range(at..=data.len());
            match rng.random_range(0..6) {
                0 => drop(data.drain(at..end)),
                1 => data.extend_from_within(at..end),
                2 => drop(data.splice(at..end, pick(&mut rng))),
                3 if at < data.len() => data[at] ^= 1 << rng.random_range(0..8),
                4 if at < data.len() => data[at] = rng.random(),
                _ => {
                    let awkward = AWKWARD[rng.random_range(0..AWKWARD.len())];
                    drop(data.splice(at..at, awkward.bytes()));
                }
            }
            data.truncate(BYTES_MAX);
        }
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&data))).is_err() {
            panic!("{} (seed {seed}) fails on {:?}", target.name, String::from_utf8_lossy(&data));
        }
    }
}

macro_rules! fuzz {
    ($($name:ident)*) => {
        $(#[test] fn $name() {
            made_of_nothing(target(stringify!($name)));
            mutated(target(stringify!($name)));
        })*

        #[test]
        fn every_target_runs() {
            let run = [$(stringify!($name)),*];
            for target in ALL {
                assert!(run.contains(&target.name), "add {} to fuzz!", target.name);
            }
        }
    };
}

fuzz!(query token slug answer endpoint import sealed mentions tool_input);
