//! Timeouts of one client connection: for sending a request, for being idle between requests, and for reading
//! the answer. A connection that exceeds one is closed, so that idle clients do not use up the connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Maximum open connections; further ones wait in the kernel's backlog.
    pub count: usize,
    /// From the first byte of a request, or the start of the connection, to the end of the headers.
    pub head: Duration,
    /// Between two requests. Longer than proxies keep connections, so that a proxy never sends a request on a
    /// connection that is being closed.
    pub idle: Duration,
    /// How long a client may read nothing of its answer.
    pub stalled: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            count: 1_024,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            stalled: Duration::from_secs(75),
        }
    }
}

/// Held until a client has sent its first byte, or has disconnected.
pub(super) struct AwaitsFirstByte;

/// Whether a request is being answered.
#[derive(Default)]
pub(super) struct AnswerState {
    is_so: AtomicBool,
    /// Wakes the connection when the answer has ended, since its deadline changes then.
    reader: AtomicWaker,
}

impl AnswerState {
    pub fn begin(&self) {
        self.is_so.store(true, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.is_so.store(false, Ordering::Relaxed);
        self.reader.wake();
    }
}

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Head,
    Answering,
}

pub struct Connection {
    stream: TcpStream,
    silence: Option<Arc<AwaitsFirstByte>>,
    _place: Option<OwnedSemaphorePermit>,
    limits: ConnectionLimits,
    answering: Arc<AnswerState>,
    phase: Phase,
    /// The deadline of [`Phase::Idle`] and [`Phase::Head`].
    deadline: Pin<Box<Sleep>>,
    /// Runs while the client reads nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(super) fn new(
        stream: TcpStream,
        silence: Arc<AwaitsFirstByte>,
        place: Option<OwnedSemaphorePermit>,
        limits: ConnectionLimits,
    ) -> Self {
        Self {
            stream,
            silence: Some(silence),
            _place: place,
            answering: Arc::default(),
            phase: Phase::Head,
            deadline: Box::pin(sleep(limits.head)),
            stalled: None,
            limits,
        }
    }

    /// For the answering task: set from the end of a request's headers.
    pub(super) fn answering(&self) -> Arc<AnswerState> {
        self.answering.clone()
    }

    fn enter(&mut self, phase: Phase, limit: Duration) {
        self.phase = phase;
        self.deadline.as_mut().reset(Instant::now() + limit);
    }

    /// The bytes written, or an error if the client has read nothing for too long.
    fn unless_stalled(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            // The end of an answer on a slow network.
            if self.phase == Phase::Idle {
                self.enter(Phase::Idle, self.limits.idle);
            }
            return written;
        }
        let limit = self.limits.stalled;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.answering.reader.register(context.waker());
        match (this.answering.is_so.load(Ordering::Relaxed), this.phase) {
            (true, _) => this.phase = Phase::Answering,
            (false, Phase::Answering) => this.enter(Phase::Idle, this.limits.idle),
            (false, _) => {}
        }
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if read.is_ready() {
            this.silence = None;
            if this.phase == Phase::Idle {
                this.enter(Phase::Head, this.limits.head);
            }
            return read;
        }
        if this.phase != Phase::Answering {
            ready!(this.deadline.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_stalled(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.unless_stalled(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
