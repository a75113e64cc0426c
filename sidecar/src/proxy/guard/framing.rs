//! Where a request's body ends: by its length, or by its chunks (RFC 9112 §6.3, §7.1). Looks at bytes that pass and says
//! how many of them belong to the body; anything but exact framing is an error, since two readers that recover from bad
//! framing differently see two different requests.

/// How the rest of a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// That many bytes.
    Length(u64),
    /// Chunks up to the last one and its trailers.
    Chunked(Chunk),
}

/// Where in chunked coding the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// In the digits of a size, of which so many have been seen.
    Size { size: u64, digits: u8 },
    /// In an extension, of which so many bytes have been seen.
    Extension { size: u64, seen: u16 },
    /// After the CR of a size line.
    SizeEnd { size: u64 },
    /// In the data.
    Data { left: u64 },
    /// Before the CR after the data.
    DataCr,
    /// Before the LF after the data.
    DataLf,
    /// At the start of a trailer line or of the last line; so many bytes of trailers have been seen.
    Trailer { seen: u32 },
    /// Inside a trailer line.
    TrailerLine { seen: u32, cr: bool },
    /// After the CR of the last line.
    End,
    /// After the last byte.
    Done,
}

/// Not chunked coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidChunk(pub &'static str);

/// Bytes of extensions in one size line.
const EXTENSION_BYTES: u16 = 1024;
/// Bytes of all trailers together.
const TRAILER_BYTES: u32 = 16 << 10;

impl Framing {
    /// A body of chunks, before its first byte.
    pub(crate) const CHUNKED: Self = Self::Chunked(Chunk::Size { size: 0, digits: 0 });

    /// True when the body has ended.
    #[must_use]
    pub(crate) fn done(self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Done))
    }

    /// How many of these bytes belong to the body.
    ///
    /// # Errors
    /// When the chunks are not framed exactly; what came before the fault is not told, the body is broken as a whole.
    pub(crate) fn pass(&mut self, input: &[u8]) -> Result<usize, InvalidChunk> {
        match self {
            Self::Length(left) => {
                let passed = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= passed as u64;
                Ok(passed)
            }
            Self::Chunked(chunk) => {
                let mut at = 0;
                while at < input.len() && *chunk != Chunk::Done {
                    if let Chunk::Data { left } = chunk {
                        let step = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len() - at);
                        *left -= step as u64;
                        at += step;
                        if *left == 0 {
                            *chunk = Chunk::DataCr;
                        }
                    } else {
                        *chunk = chunk.next(input[at])?;
                        at += 1;
                    }
                }
                Ok(at)
            }
        }
    }
}

impl Chunk {
    fn next(self, byte: u8) -> Result<Self, InvalidChunk> {
        match self {
            Self::Size { size, digits } => match byte {
                b'\r' if digits > 0 => Ok(Self::SizeEnd { size }),
                b';' if digits > 0 => Ok(Self::Extension { size, seen: 0 }),
                _ => {
                    let digit =
                        char::from(byte).to_digit(16).ok_or(InvalidChunk("a chunk's size is not hexadecimal"))?;
                    if digits == 15 {
                        return Err(InvalidChunk("a chunk's size has more than 15 digits"));
                    }
                    Ok(Self::Size { size: size << 4 | u64::from(digit), digits: digits + 1 })
                }
            },
            Self::Extension { size, seen } => match byte {
                b'\r' => Ok(Self::SizeEnd { size }),
                b'\t' | b' '..=b'~' | 0x80.. if seen < EXTENSION_BYTES => Ok(Self::Extension { size, seen: seen + 1 }),
                _ => Err(InvalidChunk("a chunk's extension has a control character or is too long")),
            },
            Self::SizeEnd { size } => match (byte, size) {
                (b'\n', 0) => Ok(Self::Trailer { seen: 0 }),
                (b'\n', left) => Ok(Self::Data { left }),
                _ => Err(InvalidChunk("a chunk's size line does not end in CRLF")),
            },
            Self::DataCr if byte == b'\r' => Ok(Self::DataLf),
            Self::DataLf if byte == b'\n' => Ok(Self::Size { size: 0, digits: 0 }),
            Self::Trailer { .. } if byte == b'\r' => Ok(Self::End),
            Self::Trailer { seen } => Self::trailer(seen, byte, false),
            Self::TrailerLine { seen, cr } => Self::trailer(seen, byte, cr),
            Self::End if byte == b'\n' => Ok(Self::Done),
            Self::Data { .. } | Self::DataCr | Self::DataLf | Self::End | Self::Done => {
                Err(InvalidChunk("a chunk does not end in CRLF"))
            }
        }
    }

    fn trailer(seen: u32, byte: u8, after_cr: bool) -> Result<Self, InvalidChunk> {
        match (byte, after_cr) {
            (b'\n', true) => Ok(Self::Trailer { seen }),
            (b'\n', false) | (_, true) => Err(InvalidChunk("a trailer line does not end in CRLF")),
            _ if seen >= TRAILER_BYTES => Err(InvalidChunk("the trailers are too long")),
            (byte, false) => Ok(Self::TrailerLine { seen: seen + 1, cr: byte == b'\r' }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass_whole(input: &[u8]) -> Result<(usize, bool), InvalidChunk> {
        let mut framing = Framing::CHUNKED;
        let passed = framing.pass(input)?;
        Ok((passed, framing.done()))
    }

    #[test]
    fn the_next_request_is_never_part_of_the_body() {
        let body = b"5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n";
        let mut input = body.to_vec();
        input.extend_from_slice(b"GET / HTTP/1.1\r\n");
        assert_eq!(pass_whole(&input), Ok((body.len(), true)));
        let mut length = Framing::Length(3);
        assert_eq!(length.pass(b"abcdef"), Ok(3));
        assert!(length.done());
    }

    #[test]
    fn it_does_not_matter_where_the_bytes_are_cut() {
        let body = b"a\r\n0123456789\r\n1\r\nx\r\n0\r\nA: 1\r\nB: 2\r\n\r\n";
        for cut in 0..body.len() {
            let mut framing = Framing::CHUNKED;
            assert_eq!(framing.pass(&body[..cut]), Ok(cut));
            assert!(!framing.done());
            assert_eq!(framing.pass(&body[cut..]), Ok(body.len() - cut));
            assert!(framing.done());
        }
    }

    #[test]
    fn inexact_framing_is_refused() {
        for body in [
            &b"\r\n"[..],
            b"g\r\n",
            b"0x5\r\n",
            b"+5\r\n",
            b"5 \r\n",
            b"5\nhello",
            b"5\r\nhelloX",
            b"5\r\nhello\n0\r\n",
            b"0\r\n\n",
            b"0\r\nX: y\n\r\n",
            b"0\r\nX: y\rz",
            b"5;\n",
            b"5;a\0\r\n",
            b"1111111111111111\r\n",
        ] {
            assert!(pass_whole(body).is_err(), "{:?}", body.escape_ascii().to_string());
        }
    }
}
