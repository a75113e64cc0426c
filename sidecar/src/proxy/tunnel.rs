//! Bytes both ways, without a look at them: WebSocket and other upgrades, CONNECT, TLS. Each direction ends on its own.
use super::client::ClientSocket;
use super::guard::Guard;
use super::metrics::Counted;
use super::upstream::UpstreamIo;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::sync::OwnedSemaphorePermit;

/// A tunnel that begins when HTTP has ended on both sides.
#[derive(Debug)]
pub(crate) struct Tunnel {
    pub(super) client: OnUpgrade,
    pub(super) application: OnUpgrade,
    pub(super) counted: Counted,
    pub(super) permit: OwnedSemaphorePermit,
}

impl Tunnel {
    /// Runs it to its end.
    ///
    /// # Errors
    /// When a side breaks off.
    pub(crate) async fn run(self) -> io::Result<()> {
        let (client, application) = futures_util::try_join!(self.client, self.application).map_err(io::Error::other)?;
        let strange = || io::Error::other("an upgraded connection is of another type than it was");
        let client = client.downcast::<TokioIo<Guard<ClientSocket>>>().map_err(|_| strange())?;
        let application = application.downcast::<UpstreamIo>().map_err(|_| strange())?;
        let (mut client_io, held) = client.io.into_inner().into_inner();
        let mut application_io = application.io.into_inner().into_inner();
        // what either side sent behind its last HTTP message has been read already
        application_io.write_all(&client.read_buf).await?;
        application_io.write_all(&held).await?;
        client_io.write_all(&application.read_buf).await?;
        let ended = pass(&mut client_io, &mut application_io).await;
        drop((self.counted, self.permit));
        ended
    }
}

/// Passes bytes until both directions have ended.
///
/// # Errors
/// When a side breaks off.
pub(crate) async fn pass<C, A>(client: &mut C, application: &mut A) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + Unpin,
    A: AsyncRead + AsyncWrite + Unpin,
{
    copy_bidirectional(client, application).await.map(|_| ())
}
