//! What the crate `h2` makes of the frames of a server, beside what we make of them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use dnsdyno_transport::fuzz::http2_answers;
use http::{Method, Request, StatusCode, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Builder;

/// Frames of a server, as answers to one query: an answer that both clients take is the same.
///
/// Neither takes all that the other does: we end a connection after frames that `h2` passes over, and it checks fields
/// of the response that no DNS message depends on.
pub fn http2_against_h2(frames: &[u8]) {
    let ours = http2_answers(frames);
    assert!(ours.len() <= 1, "one query has one answer");
    let Some(ours) = ours.first() else { return };
    let runtime = Builder::new_current_thread().build().expect("a runtime without sockets");
    if let Some(theirs) = runtime.block_on(answer_by_h2(frames)) {
        assert_eq!(ours.as_slice(), theirs.get(2..).unwrap_or_default());
    }
}

/// The body of a response with the status 200; `None` where `h2` takes none.
async fn answer_by_h2(frames: &[u8]) -> Option<Vec<u8>> {
    let server = Server { frames: frames.to_vec(), at: 0 };
    let (mut client, mut connection) = h2::client::handshake(server).await.ok()?;
    let request = Request::builder()
        .method(Method::POST)
        .uri("https://dns.example/dns-query")
        .header(header::CONTENT_TYPE, "application/dns-message")
        .body(())
        .ok()?;
    let (response, mut body) = client.send_request(request, false).ok()?;
    body.send_data(Bytes::from_static(&[0; 17]), true).ok()?;
    let answer = async {
        let (head, mut body) = response.await.ok()?.into_parts();
        let mut whole = Vec::new();
        while let Some(piece) = body.data().await {
            let piece = piece.ok()?;
            whole.extend_from_slice(&piece);
            body.flow_control().release_capacity(piece.len()).ok()?;
        }
        (head.status == StatusCode::OK).then_some(whole)
    };
    let mut answer = std::pin::pin!(answer);
    std::future::poll_fn(|context| {
        // All that the server has sent is read first: it ends then, and so does the answer.
        let _ = Pin::new(&mut connection).poll(context);
        answer.as_mut().poll(context)
    })
    .await
}

/// A server that has sent everything, reads nothing, and is gone after it.
struct Server {
    frames: Vec<u8>,
    at: usize,
}

impl AsyncRead for Server {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.frames[self.at..];
        let taken = rest.len().min(into.remaining());
        into.put_slice(&rest[..taken]);
        self.at += taken;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Server {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(octets.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
