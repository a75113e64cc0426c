//! What the guard does with bytes, without sockets.
use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

fn guarded(io: tokio::io::DuplexStream) -> (Guard<tokio::io::DuplexStream>, Arc<Signal>) {
    let signal = Arc::new(Signal::default());
    let limits = ProxyLimits::default();
    (Guard::new(io, b"", clock::now() + limits.head_time, &limits, Arc::clone(&signal)), signal)
}

async fn read(guard: &mut Guard<tokio::io::DuplexStream>, length: usize) -> String {
    let mut bytes = vec![0; length];
    guard.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn what_is_rejected_never_comes_out_and_a_placeholder_stands_in_its_turn() {
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, signal) = guarded(io);
    client.write_all([GET, GET, "BAD\n", GET].concat().as_bytes()).await.unwrap();
    let out = read(&mut guard, 2 * GET.len() + PLACEHOLDER.len()).await;
    assert_eq!(out.as_bytes(), [GET.as_bytes(), GET.as_bytes(), PLACEHOLDER].concat());
    assert_eq!((signal.next_request(), signal.next_request()), (None, None));
    assert!(matches!(signal.next_request(), Some(Rejection::Malformed(_))));
    client.write_all(GET.as_bytes()).await.unwrap();
    let more = tokio::time::timeout(Duration::from_millis(20), guard.read_u8()).await;
    assert!(more.is_err(), "after a rejection nothing comes out");
}

#[tokio::test]
async fn a_small_reader_gets_the_same_bytes() {
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, _) = guarded(io);
    let sent = [GET, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", GET].concat();
    client.write_all(sent.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    while out.len() < sent.len() {
        out.push(guard.read_u8().await.unwrap());
    }
    assert_eq!(out, sent.as_bytes());
}

#[tokio::test]
async fn behind_an_offer_to_upgrade_nothing_comes_out_before_it_is_decided() {
    let offer = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n";
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, signal) = guarded(io);
    client.write_all([offer, GET].concat().as_bytes()).await.unwrap();
    read(&mut guard, offer.len()).await;
    let early = tokio::time::timeout(Duration::from_millis(20), guard.read_u8()).await;
    assert!(early.is_err());
    signal.release();
    assert_eq!(read(&mut guard, GET.len()).await, GET);
    client.write_all([offer, "frame"].concat().as_bytes()).await.unwrap();
    read(&mut guard, offer.len()).await;
    let early = tokio::time::timeout(Duration::from_millis(20), guard.read_u8()).await;
    assert!(early.is_err());
    assert_eq!(&guard.into_inner().1[..], b"frame");
}

#[tokio::test]
async fn a_body_that_breaks_is_an_error_behind_what_was_right() {
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, signal) = guarded(io);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.write_all([head, "zz"].concat().as_bytes()).await.unwrap();
    read(&mut guard, head.len()).await;
    assert_eq!(guard.read_u8().await.unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert!(signal.is_broken());
}

/// What comes out when the input arrives in pieces of this length, without the placeholder; and how it ended.
fn fed(input: &[u8], piece: usize) -> (Vec<u8>, Expect) {
    let limits = ProxyLimits::default();
    let mut guard = Guard::new((), b"", clock::now(), &limits, Arc::default());
    let mut out = Vec::new();
    for piece in input.chunks(piece) {
        let mut pending = std::mem::take(&mut guard.pending);
        pending.extend_from_slice(piece);
        guard.keep(pending);
        out.extend_from_slice(&guard.pending.split_to(guard.cleared));
        guard.cleared = 0;
        if matches!(guard.expect, Expect::Stopped) {
            assert!(out.ends_with(PLACEHOLDER));
            out.truncate(out.len() - PLACEHOLDER.len());
            break;
        }
    }
    (out, guard.expect)
}

#[test]
fn whatever_comes_in_what_goes_out_is_its_beginning_and_does_not_depend_on_how_it_was_cut() {
    let streams = [
        "GET /a?b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nPOST / HTTP/1.1\r\nHost: b\r\nContent-Length: 4\r\n\r\nGET GET / HTTP/1.0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nbody\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nhiGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    let meddling = b"\r\n\0 \t:;,0aG/\xff";
    // a fixed sequence (Knuth's MMIX), so that a failure comes again
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for round in 0..20_000 {
        let mut input = streams[round % streams.len()].as_bytes().to_vec();
        for _ in 0..next(3) {
            let (at, byte) = (next(input.len()), meddling[next(meddling.len())]);
            match next(3) {
                0 => input[at] = byte,
                1 => input.insert(at, byte),
                _ => drop(input.remove(at)),
            }
        }
        let (whole, end) = fed(&input, usize::MAX);
        assert!(input.starts_with(&whole), "{}", input.escape_ascii());
        for piece in [1, 2, 7] {
            let (cut, cut_end) = fed(&input, piece);
            assert!(input.starts_with(&cut), "{}", input.escape_ascii());
            // of a body that breaks, how much came before the fault was noticed may differ
            let broken = matches!(end, Expect::Broken(_)) && matches!(cut_end, Expect::Broken(_));
            assert!(cut == whole || broken, "pieces of {piece}: {}", input.escape_ascii());
        }
    }
}
