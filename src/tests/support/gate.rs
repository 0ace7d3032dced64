//! Order without sleeping: a stand-in that keeps its callers waiting until a test lets them
//! through, and a wait for something that becomes true.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A hang guard, and no expectation: a test that is right on a fast machine is right on a slow one.
pub const PATIENCE: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks again and again until it is so.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "never so: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Open until it is held. Whoever passes blocks their thread: a stand-in's server has one of its own.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn hold(&self) -> Held {
        *self.0.0.lock().unwrap() = true;
        Held(self.clone())
    }

    pub fn pass(&self) {
        let (is_held, released) = &*self.0;
        let held = is_held.lock().unwrap();
        drop(released.wait_timeout_while(held, PATIENCE, |is_held| *is_held).unwrap());
    }
}

/// Lets everybody through when it is dropped.
pub struct Held(Gate);

impl Drop for Held {
    fn drop(&mut self) {
        let (is_held, released) = &*self.0.0;
        *is_held.lock().unwrap() = false;
        released.notify_all();
    }
}
