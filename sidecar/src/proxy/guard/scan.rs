//! Finds where a head ends while it is still arriving, each byte looked at once, and tells early of what can't become a
//! head: a client that speaks something else, or more slowly than it is worth waiting for.
use super::Rejection;
use super::head::{self, HeadLimits};

/// How far the looking has come; positions count from the head's first byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    at: usize,
    line: usize,
    lines: usize,
}

impl Scan {
    /// The position after the head's empty line, or `None` while it has not come. `head` begins with the head's first
    /// byte each time.
    pub(super) fn find_end(&mut self, head: &[u8], limits: &HeadLimits) -> Result<Option<usize>, Rejection> {
        if self.at == 0 && head.starts_with(b"\r") {
            // one empty line before a request is to be ignored (RFC 9112 §2.2)
            match head.get(1) {
                None => return Ok(None),
                Some(b'\n') => (self.at, self.line) = (2, 2),
                Some(_) => return Err(Rejection::Malformed("this is not an HTTP request")),
            }
        }
        let had_lines = self.lines > 0;
        while let Some(step) = head.get(self.at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
            let end = self.at + step;
            if end == 0 || head[end - 1] != b'\r' {
                return Err(Rejection::Malformed("a line of the head ends in LF without CR"));
            }
            self.at = end + 1;
            if end == self.line + 1 {
                return if self.at > limits.head_bytes { Err(Rejection::HeadTooLarge) } else { Ok(Some(self.at)) };
            }
            self.lines += 1;
            self.line = self.at;
        }
        self.at = head.len();
        if self.lines == 0 {
            // method, two spaces and the version are short; the rest is target
            if head.len() > limits.target_bytes + 64 {
                return Err(Rejection::TargetTooLong);
            }
            head::could_become(&head[..head.len().min(64)])?;
        } else if !had_lines {
            head::could_become(head)?;
        }
        if head.len() > limits.head_bytes { Err(Rejection::HeadTooLarge) } else { Ok(None) }
    }
}
