//! The door that connections come in by. When it closes, nobody who stands before it
//! is turned away: whom the kernel has let in is served, and then nobody comes.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// Whose connection it is.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

impl Connected<IncomingStream<'_, Gate>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Gate>) -> Self {
        Self(*stream.remote_addr())
    }
}

pub struct Gate {
    listener: Option<TcpListener>,
    address: SocketAddr,
    /// Those who were let in as it closed.
    last: VecDeque<(TcpStream, SocketAddr)>,
    asked: watch::Receiver<bool>,
    is_closed: Option<oneshot::Sender<()>>,
}

/// Closes its gate.
pub struct GateHandle {
    ask: watch::Sender<bool>,
    closed: oneshot::Receiver<()>,
}

impl GateHandle {
    /// Returns when nobody can come in any more, and all who did are in hand.
    pub async fn close(self) {
        self.ask.send(true).ok();
        self.closed.await.ok();
    }
}

impl Gate {
    pub fn new(listener: TcpListener) -> (Self, GateHandle) {
        let (ask, asked) = watch::channel(false);
        let (is_closed, closed) = oneshot::channel();
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let gate = Self {
            address: listener.local_addr().unwrap_or(unknown),
            listener: Some(listener),
            last: VecDeque::new(),
            asked,
            is_closed: Some(is_closed),
        };
        (gate, GateHandle { ask, closed })
    }

    /// The kernel completes connections by itself; closing would reset those that
    /// nobody has taken yet.
    fn shut(&mut self) {
        let Some(Ok(listener)) = self.listener.take().map(TcpListener::into_std) else {
            return;
        };
        while let Ok((stream, peer)) = listener.accept() {
            let usable = stream
                .set_nonblocking(true)
                .and_then(|()| TcpStream::from_std(stream));
            self.last.extend(usable.ok().map(|stream| (stream, peer)));
        }
    }
}

impl Listener for Gate {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            if let Some(waiting) = self.last.pop_front() {
                return waiting;
            }
            let Some(listener) = &mut self.listener else {
                if let Some(closed) = self.is_closed.take() {
                    closed.send(()).ok();
                }
                return std::future::pending().await;
            };
            let accepted = tokio::select! {
                accepted = Listener::accept(listener) => Some(accepted),
                _ = self.asked.wait_for(|asked| *asked) => None,
            };
            match accepted {
                Some(accepted) => return accepted,
                None => self.shut(),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
