//! The tables of `decisions.md`, each row sent to a sidecar.
use super::app::App;
use super::client::{Answer, Connection, request};
use super::policies::{PolicyFile, enough_of, policy};
use super::sidecar::Sidecar;
use hyper::Method;
use std::net::Ipv4Addr;

const TABLES: &str = include_str!("decisions.md");
const DAY: u64 = 86_400;

/// A policy and what is asked of it.
struct Section<'t> {
    title: &'t str,
    spec: String,
    rows: Vec<Row<'t>>,
}

/// One request and its answer, as written.
struct Row<'t> {
    line: &'t str,
    request: &'t str,
    with: &'t str,
    answer: &'t str,
}

fn sections() -> Vec<Section<'static>> {
    let section = |text: &'static str| {
        let (title, text) = text.split_once('\n').unwrap();
        let (spec, table) = text.split_once("```yaml\n").unwrap().1.split_once("```").unwrap();
        let spec: Vec<String> = spec.lines().map(|line| format!("  {line}")).collect();
        let lines = table.lines().filter(|line| line.starts_with('|')).skip(2);
        let row = |line: &'static str| {
            let [_, request, with, answer, _] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            Row { line, request, with, answer }
        };
        Section { title, spec: spec.join("\n"), rows: lines.map(row).collect() }
    };
    TABLES.split("\n## ").skip(1).map(section).collect()
}

impl Row<'_> {
    async fn ask(&self, sidecar: &Sidecar) -> Answer {
        let (method, target) = self.request.split_once(' ').unwrap();
        let mut from = Ipv4Addr::LOCALHOST;
        let (mut own_host, mut headers) = (None, Vec::new());
        for part in self.with() {
            match part.split_once(": ") {
                Some(("host", host)) => own_host = Some(host),
                Some(header) => headers.push(header),
                None => from = part.strip_prefix("from ").unwrap().parse().unwrap(),
            }
        }
        let method: Method = method.parse().unwrap();
        let mut request = request(method, sidecar.listen, target, &headers, "");
        if let Some(host) = own_host {
            request.headers_mut().insert("host", host.parse().unwrap());
        }
        Connection::from(from, sidecar.listen).send(request).await.unwrap()
    }

    /// What stands in the column, parted where a header or an address begins.
    fn with(&self) -> Vec<&str> {
        let begins = |text: &str| {
            text.starts_with("from ")
                || text
                    .split_once(": ")
                    .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)))
        };
        parted(self.with, "; ", begins)
    }

    /// What of the answer is not as written.
    fn wrong(&self, answer: &Answer) -> Vec<String> {
        let begins = |text: &str| {
            text.starts_with("no ") || text.split_once(": ").is_some_and(|(name, _)| !name.contains(['"', '=']))
        };
        let parts = parted(self.answer, ", ", begins);
        let (status, parts) = parts.split_first().unwrap();
        let mut wrong = Vec::new();
        if answer.status.to_string() != **status {
            wrong.push(format!("status {}", answer.status));
        }
        for part in parts {
            let (name, expected) = match part.split_once(": ") {
                Some((name, value)) => (name, Some(value)),
                None => (part.strip_prefix("no ").unwrap(), None),
            };
            let is = answer.header(name);
            let fits = match (is, expected) {
                (Some(is), Some(expected)) => is == expected || in_range(is, expected),
                (is, expected) => is == expected,
            };
            if !fits {
                wrong.push(format!("{name}: {is:?}"));
            }
        }
        wrong
    }
}

/// `text` parted at each `separator` after which something begins.
fn parted<'t>(text: &'t str, separator: &str, begins: impl Fn(&str) -> bool) -> Vec<&'t str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(separator) {
        if begins(&text[at + separator.len()..]) {
            parts.push(&text[start..at]);
            start = at + separator.len();
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn in_range(is: &str, range: &str) -> bool {
    let Some((least, most)) = range.split_once('-') else { return false };
    let numbers = (is.parse::<u64>(), least.parse(), most.parse());
    matches!(numbers, (Ok(is), Ok(least), Ok(most)) if (least..=most).contains(&is))
}

#[tokio::test]
async fn every_row_of_the_tables_is_true() {
    enough_of(DAY, 60).await;
    let app = App::start().await;
    let (mut rows, mut wrong) = (0, Vec::new());
    for section in sections() {
        let file = PolicyFile::new(&policy("api", &section.spec));
        let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
        for row in &section.rows {
            rows += 1;
            let found = row.wrong(&row.ask(&sidecar).await);
            if !found.is_empty() {
                wrong.push(format!("{}: {}\n   is {}", section.title, row.line, found.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {rows} rows:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows >= 60, "{rows} rows");
}
