//! The socket of a client connection, shared by who serves it and by who watches whether the client is still there.
use socket2::SockRef;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// A client's socket; a clone is the same one. Read and written by one owner, watched by others.
#[derive(Clone, Debug)]
pub(crate) struct ClientSocket(Arc<TcpStream>);

impl ClientSocket {
    /// To be shared.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(stream))
    }

    /// When the client has closed its side or reset the connection, whatever of its bytes has not been read: who serves the
    /// connection does not read while a request waits whose body is to come, or behind which the next one has arrived, and so
    /// can't see it.
    ///
    /// The kernel tells of the close beside the bytes. A descriptor of its own takes that in, since the readiness that is
    /// consumed here is not the one that reading waits for. Where none can be had, the close is seen when it is read.
    pub(crate) async fn gone(&self) {
        if let Ok(watched) = self.watch() {
            while let Ok(ready) = watched.ready(Interest::READABLE).await {
                if ready.is_read_closed() {
                    return;
                }
                // nothing is read here; this only says that the next event is to be waited for
                let _ = watched.try_io(Interest::READABLE, || io::Result::<()>::Err(io::ErrorKind::WouldBlock.into()));
            }
        }
        std::future::pending().await
    }

    fn watch(&self) -> io::Result<TcpStream> {
        TcpStream::from_std(self.0.as_fd().try_clone_to_owned()?.into())
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read_buf(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write_vectored(bufs) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    async fn pair() -> (ClientSocket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (ClientSocket::new(listener.accept().await.unwrap().0), client)
    }

    #[tokio::test]
    async fn a_close_is_seen_behind_bytes_that_nobody_reads() {
        let (socket, mut client) = pair().await;
        client.write_all(b"not read").await.unwrap();
        let mut gone = std::pin::pin!(socket.gone());
        assert!(futures_util::poll!(gone.as_mut()).is_pending());
        client.write_all(b"nor this").await.unwrap();
        assert!(futures_util::poll!(gone.as_mut()).is_pending());
        client.shutdown().await.unwrap();
        gone.await;
        let mut read = String::new();
        socket.clone().read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "not readnor this", "watching takes nothing away");
    }

    #[tokio::test]
    async fn a_reset_is_seen() {
        let (socket, mut client) = pair().await;
        client.write_all(b"not read").await.unwrap();
        SockRef::from(&client).set_linger(Some(std::time::Duration::ZERO)).unwrap();
        drop(client);
        socket.gone().await;
    }

    #[tokio::test]
    async fn a_close_from_before_the_watch_is_seen() {
        let (socket, client) = pair().await;
        drop(client);
        socket.gone().await;
    }

    #[tokio::test]
    async fn more_than_the_kernel_buffers_goes_through_both_ways() {
        let (mut socket, client) = pair().await;
        let (mut read, mut write) = client.into_split();
        let sent = vec![7_u8; 8 << 20];
        let expected = sent.clone();
        let echo = tokio::spawn(async move { tokio::io::copy(&mut read, &mut write).await });
        let (mut from, to) = (socket.clone(), &mut socket);
        let mut back = vec![0; expected.len()];
        let (written, read) = tokio::join!(to.write_all(&sent), from.read_exact(&mut back));
        written.unwrap();
        read.unwrap();
        to.shutdown().await.unwrap();
        echo.await.unwrap().unwrap();
        assert!(back == expected);
    }
}
