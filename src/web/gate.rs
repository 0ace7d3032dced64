//! Accepts connections. On shutdown no client is cut off: connections that the kernel has accepted are
//! served, and new ones are refused.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep};

use super::connection::{AwaitsFirstByte, Connection, ConnectionLimits};

/// How long a connection accepted before the shutdown may take to send its first byte.
const LAST_WORDS: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Handshakes in progress at the shutdown have ended by then.
const LAST_STEPS: Duration = Duration::from_millis(100);

pub struct Gate {
    listener: Option<TcpListener>,
    limits: ConnectionLimits,
    /// Permits for open connections.
    places: Arc<Semaphore>,
    /// Connections that were accepted during the shutdown.
    last: VecDeque<(TcpStream, SocketAddr)>,
    silent: SilentConnections,
    asked: watch::Receiver<bool>,
    is_closed: Option<oneshot::Sender<SilentConnections>>,
}

/// Closes its gate.
pub struct GateHandle {
    ask: watch::Sender<bool>,
    closed: oneshot::Receiver<SilentConnections>,
}

impl GateHandle {
    /// Returns once no connection can come in, and all accepted ones have sent a byte or exceeded
    /// [`LAST_WORDS`].
    pub async fn close(self) {
        self.ask.send(true).ok();
        let silent = self.closed.await.unwrap_or_default();
        while silent.iter().any(is_waited_for) {
            sleep(LOOK_EVERY).await;
        }
    }
}

/// Connections that had sent nothing when they were added, oldest first, with the time they came.
type SilentConnections = VecDeque<(Instant, Weak<AwaitsFirstByte>)>;

fn is_waited_for((came, silence): &(Instant, Weak<AwaitsFirstByte>)) -> bool {
    silence.strong_count() > 0 && came.elapsed() < LAST_WORDS
}

impl Gate {
    pub fn new(listener: TcpListener, limits: ConnectionLimits) -> (Self, GateHandle) {
        let (ask, asked) = watch::channel(false);
        let (is_closed, closed) = oneshot::channel();
        let gate = Self {
            listener: Some(listener),
            limits,
            places: Arc::new(Semaphore::new(limits.count)),
            last: VecDeque::new(),
            silent: VecDeque::new(),
            asked,
            is_closed: Some(is_closed),
        };
        (gate, GateHandle { ask, closed })
    }

    fn admit(
        &mut self,
        (stream, peer): (TcpStream, SocketAddr),
        place: Option<OwnedSemaphorePermit>,
    ) -> (Connection, SocketAddr) {
        while self.silent.front().is_some_and(|s| !is_waited_for(s)) {
            self.silent.pop_front();
        }
        let silence = Arc::new(AwaitsFirstByte);
        self.silent.push_back((Instant::now(), Arc::downgrade(&silence)));
        let connection = Connection::new(stream, silence, place, self.limits);
        (connection, peer)
    }

    /// The next connection and its peer. At the limit of open connections, further ones wait in the kernel's
    /// backlog.
    pub async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            if let Some(waiting) = self.last.pop_front() {
                return self.admit(waiting, None);
            }
            let Some(listener) = &mut self.listener else {
                if let Some(closed) = self.is_closed.take() {
                    closed.send(mem::take(&mut self.silent)).ok();
                }
                return std::future::pending().await;
            };
            let places = self.places.clone();
            let accepted = async {
                // The semaphore is never closed.
                let place = places.acquire_owned().await.ok();
                (Listener::accept(listener).await, place)
            };
            let accepted = tokio::select! {
                accepted = accepted => Some(accepted),
                _ = self.asked.wait_for(|asked| *asked) => None,
            };
            match accepted {
                Some((accepted, place)) => return self.admit(accepted, place),
                None => self.shut().await,
            }
        }
    }

    /// The kernel completes handshakes by itself, and closing the socket resets those that were not accepted.
    /// So this first stops new handshakes, then accepts the completed ones.
    async fn shut(&mut self) {
        let Some(listener) = self.listener.take() else {
            return;
        };
        if let Err(error) = begin_no_more(&listener) {
            tracing::debug!(%error, "connections are still begun while the door closes");
        }
        sleep(LAST_STEPS).await;
        let Ok(listener) = listener.into_std() else {
            return;
        };
        while let Ok((stream, peer)) = listener.accept() {
            let usable = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            self.last.extend(usable.ok().map(|stream| (stream, peer)));
        }
    }
}

/// Drops SYN packets in the kernel; the client retries a second later, and is refused then.
#[cfg(target_os = "linux")]
fn begin_no_more(listener: &TcpListener) -> io::Result<()> {
    use socket2::{SockFilter, SockRef};
    const FLAGS_OF_TCP_HEADER: u32 = 13;
    const SYN: u32 = 2;
    // Classic BPF: load the flags byte; if SYN is set drop the packet, else keep it.
    SockRef::from(listener).attach_filter(&[
        SockFilter::new(0x30, 0, 0, FLAGS_OF_TCP_HEADER),
        SockFilter::new(0x45, 0, 1, SYN),
        SockFilter::new(0x06, 0, 0, 0),
        SockFilter::new(0x06, 0, 0, u32::MAX),
    ])
}

#[cfg(not(target_os = "linux"))]
fn begin_no_more(_: &TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;

    use super::*;

    /// The address of a gate that accepts every connection and echoes its first byte.
    async fn open(address: &str) -> (SocketAddr, GateHandle, JoinHandle<()>) {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mut gate, door) = Gate::new(listener, ConnectionLimits::default());
        let serving = tokio::spawn(async move {
            loop {
                let (mut caller, _) = gate.accept().await;
                tokio::spawn(async move {
                    let said = caller.read_u8().await.unwrap();
                    caller.write_u8(said).await.unwrap();
                });
            }
        });
        (address, door, serving)
    }

    #[tokio::test]
    async fn who_came_before_the_door_closed_is_heard_and_who_comes_after_is_refused() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (address, door, serving) = open(address).await;
            let came = Instant::now();
            let mut early = TcpStream::connect(address).await.unwrap();
            let closing = tokio::spawn(door.close());
            sleep(LAST_STEPS / 4).await;
            let late = tokio::spawn(TcpStream::connect(address));
            sleep(LAST_STEPS * 2).await;
            assert!(TcpStream::connect(address).await.is_err());
            assert!(!closing.is_finished(), "who has not spoken is waited for");
            early.write_u8(7).await.unwrap();
            assert_eq!(early.read_u8().await.unwrap(), 7);
            closing.await.unwrap();
            assert!(came.elapsed() < LAST_WORDS);
            // Refused, not accepted by the kernel and then reset, so no request can be lost.
            let refused = late.await.unwrap().unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            serving.abort();
        }
    }

    #[tokio::test]
    async fn who_says_nothing_is_waited_for_once() {
        let (address, door, serving) = open("127.0.0.1:0").await;
        let came = Instant::now();
        let _silent = TcpStream::connect(address).await.unwrap();
        door.close().await;
        assert!(came.elapsed() >= LAST_WORDS);
        serving.abort();

        let (address, door, serving) = open("127.0.0.1:0").await;
        let _silent = TcpStream::connect(address).await.unwrap();
        sleep(LAST_WORDS + LOOK_EVERY).await;
        let began = Instant::now();
        door.close().await;
        assert!(began.elapsed() < LAST_WORDS);
        serving.abort();
    }
}
