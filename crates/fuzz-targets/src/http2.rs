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
/// Neither takes all that the other does: we end a connection after frames that `h2` passes over, and take no message
/// of another content type; it checks fields of the response that no DNS message depends on.
pub fn http2_against_h2(frames: &[u8]) {
    let ours = http2_answers(frames);
    assert!(ours.len() <= 1, "one query has one answer");
    let Some(ours) = ours.first().filter(|message| !message.is_empty()) else { return };
    if let Some(theirs) = answer_by_h2(frames) {
        assert_eq!(ours.as_slice(), theirs.get(2..).unwrap_or_default());
    }
}

fn answer_by_h2(frames: &[u8]) -> Option<Vec<u8>> {
    let runtime = Builder::new_current_thread().build().expect("a runtime without sockets");
    runtime.block_on(read_by_h2(frames))
}

/// The body of a response with the status 200; `None` where `h2` takes none.
async fn read_by_h2(frames: &[u8]) -> Option<Vec<u8>> {
    let server = Server { frames: frames.to_vec(), at: 0, is_asked: false };
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
        // The request is written, and all that the server has sent is read. What is not an answer then becomes none.
        if Pin::new(&mut connection).poll(context).is_pending() {
            let _ = Pin::new(&mut connection).poll(context);
        }
        Poll::Ready(match answer.as_mut().poll(context) {
            Poll::Ready(answer) => answer,
            Poll::Pending => None,
        })
    })
    .await
}

/// A server that sends everything once it is asked: `h2` refuses answers before. It keeps the connection, at whose end
/// `h2` would forget what it has read.
struct Server {
    frames: Vec<u8>,
    at: usize,
    is_asked: bool,
}

impl AsyncRead for Server {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The client writes its request after it has found nothing to read.
        if !std::mem::replace(&mut self.is_asked, true) {
            return Poll::Pending;
        }
        let rest = &self.frames[self.at..];
        let taken = rest.len().min(into.remaining());
        if rest.is_empty() {
            return Poll::Pending;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Without an answer that both take, the target would compare nothing.
    #[test]
    fn kept_inputs_have_answers_that_both_take() {
        let answer = include_bytes!("../../../fuzz/corpus/http2_against_h2/seed-answer");
        let pieces = include_bytes!("../../../fuzz/corpus/http2_against_h2/seed-in-pieces");
        for frames in [&answer[..], pieces] {
            assert_eq!(http2_answers(frames).len(), 1);
            assert!(answer_by_h2(frames).is_some_and(|theirs| theirs.len() > 12));
        }
    }
}
