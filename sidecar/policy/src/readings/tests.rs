//! Whatever an application makes of a path, one of the readings is that.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::path_match::{PathForm, PathPattern};

/// The readings of a path that has not too many.
fn all(path: &str) -> SmallVec<[Cow<'_, [u8]>; 1]> {
    of(path).unwrap()
}

/// As a limit has it.
fn matches_any(pattern: &PathPattern, target: &str) -> bool {
    of(target).is_none_or(|readings| readings.iter().any(|reading| pattern.may_match(reading, false)))
}

fn matches(form: PathForm, pattern: &str, target: &str) -> bool {
    matches_any(&PathPattern::parse(form, pattern, false).unwrap(), target)
}

fn exact(pattern: &str, target: &str) -> bool {
    matches(PathForm::Exact, pattern, target)
}

fn prefix(pattern: &str, target: &str) -> bool {
    matches(PathForm::Prefix, pattern, target)
}

#[test]
fn a_path_is_matched_whole_and_a_prefix_by_segments() {
    assert!(exact("/api", "/api") && exact("/api/", "/api") && exact("/api", "/api/"));
    assert!(!exact("/api", "/api/x") && !exact("/api", "/apis") && !exact("/api", "/API") && !exact("/api", "/"));
    assert!(
        prefix("/api", "/api") && prefix("/api", "/api/") && prefix("/api", "/api/x/y") && prefix("/api/", "/api/x")
    );
    assert!(!prefix("/api", "/apis") && !prefix("/api", "/") && !prefix("/api/x", "/api"));
    assert!(exact("/", "/") && !exact("/", "/x"));
    for target in ["/", "/x", "*", "", "//", "/%2e"] {
        assert!(prefix("/", target), "{target:?}");
    }
}

#[test]
fn no_way_of_writing_a_path_is_a_way_around() {
    for target in [
        "/api/login",
        "/api/login/",
        "//api/login",
        "/api//login",
        "/api/./login",
        "/api/x/../login",
        "/../api/login",
        "/%61pi/login",
        "/api/%6Cogin",
        "/api/%6cogin",
        "/api%2Flogin",
        "/api%2flogin",
        "/api\\login",
        "/api%5Clogin",
        "/api%5clogin",
        "/api;v=1/login",
        "/api/login;jsessionid=1",
        "/api%3Bv=1/login",
        "/api/%2e/login",
        "/api/x/%2e%2E/login",
        "/api/x%2F..%2Flogin",
        "/api/x/..;/login",
        "/;x/api/login",
        "/%2561pi/login",
        "/api%252Flogin",
        "/api%255Clogin",
        "/api/x/%252e%252e/login",
        "/api/login%2F",
        "/api/login//",
        "/api/login/.",
        "/x\\..\\api\\login",
        "/api/login%3B",
    ] {
        assert!(
            exact("/api/login", target),
            "{target} reads as {:?}",
            all(target).iter().map(|r| String::from_utf8_lossy(r)).collect::<Vec<_>>()
        );
        assert!(prefix("/api", target), "{target}");
    }
}

#[test]
fn a_path_as_sent_counts_beside_what_it_leads_to() {
    for target in ["/api/../login", "/api/%2e%2e/login", "/api;x/../login"] {
        assert!(prefix("/api", target) && exact("/login", target), "{target}");
    }
}

#[test]
fn other_paths_stay_other_paths() {
    for target in [
        "/apilogin",
        "/api/logins",
        "/api/x/login",
        "/%2Fapilogin",
        "/api-login",
        "/api.login",
        "/ap%69login",
        "/api/login.html",
    ] {
        assert!(!exact("/api/login", target), "{target}");
    }
}

#[test]
fn patterns_may_be_written_encoded_or_not() {
    assert!(exact("/caf%C3%A9", "/café") && exact("/café", "/caf%c3%a9"));
    assert!(exact("/a%2Fb", "/a%2fb") && exact("/a/b", "/a%2Fb"));
    assert!(exact("/100%25", "/100%25"));
}

#[test]
fn a_plain_path_has_one_reading_and_is_not_copied() {
    for target in ["/", "/api", "/api/v1/users/", "/a.b/c-d_e~f", "/a/b.", "*"] {
        let readings = all(target);
        assert!(matches!(readings.as_slice(), [Cow::Borrowed(_)]), "{target} {readings:?}");
    }
}

#[test]
fn dots_that_decoding_makes_are_followed_or_left() {
    // an application that follows first and decodes then is at `/api/..`
    assert!(prefix("/api", "/./api%2f..") && prefix("/api", "/x/../api%2f..") && prefix("/api", "//./api%2f.."));
}

#[test]
fn escapes_that_are_none_stay() {
    for path in ["/%", "/%2", "/%zz", "/a%"] {
        assert_eq!(decoded(path.as_bytes(), Slash::Decoded), path.as_bytes());
    }
}

#[test]
fn a_path_of_too_many_readings_may_be_any_and_those_that_people_write_are_not() {
    assert!(of(&"/a%2f..%5c.\\;%3bx//%252e%252f%255c./".repeat(6)).is_none());
    for times in 1..40 {
        let path = format!("/%2525%255c%252f;\\%5c/./{}", "a/".repeat(times * 20));
        let readings = of(&path).unwrap_or_default();
        assert!(readings.iter().map(|reading| reading.len() + EACH).sum::<usize>() <= MOST, "{times}");
    }
    let url = format!("/proxy/https%3A%2F%2Fshop.example%2F{}", "path%2Fto%2F".repeat(160));
    assert!(url.len() < 2048 && all(&url).len() == 4, "{}", all(&url).len());
    for written in ["/a%20b/c%2Fd;v=1/../e", "/files/%E6%97%A5%E6%9C%AC/../x;y", "/a%252Fb//c"] {
        assert!(of(written).is_some(), "{written}");
    }
    assert_eq!(all(&format!("/{}", "a/".repeat(8_000))).len(), 1);
}

#[test]
fn parameters_end_with_their_segment() {
    let cut = |path: &str| without_parameters(path.as_bytes()).map(|path| String::from_utf8(path).unwrap());
    assert_eq!(cut("/a;x=1;y/b;/;c/d").as_deref(), Some("/a/b//d"));
    assert_eq!(cut("/a/b"), None);
}

/// Applications as they are, each written independently of the readings.
mod application {
    fn unquote(path: &str) -> String {
        let bytes = path.as_bytes();
        let (mut out, mut i) = (Vec::new(), 0);
        while i < bytes.len() {
            let code = path.get(i + 1..i + 3).filter(|_| bytes[i] == b'%').and_then(|h| u8::from_str_radix(h, 16).ok());
            out.push(code.unwrap_or(bytes[i]));
            i += if code.is_some() { 3 } else { 1 };
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    fn follow(path: &str, merge: bool) -> String {
        let mut stack: Vec<&str> = Vec::new();
        for segment in path.split('/').skip(1) {
            match segment {
                "." => {}
                "" if merge => {}
                ".." => drop(stack.pop()),
                _ => stack.push(segment),
            }
        }
        format!("/{}", stack.join("/"))
    }

    fn drop_parameters(path: &str) -> String {
        path.split('/').map(|s| s.split(';').next().unwrap()).collect::<Vec<_>>().join("/")
    }

    /// What each makes of a path.
    pub(super) fn all(path: &str) -> Vec<(&'static str, String)> {
        vec![
            ("takes it as sent", path.to_owned()),
            ("decodes (WSGI)", unquote(path)),
            ("follows dots as sent", follow(path, false)),
            ("decodes, merges, follows (nginx)", follow(&unquote(path), true)),
            ("follows, then decodes", unquote(&follow(path, false))),
            ("drops parameters, decodes, follows (servlets)", follow(&unquote(&drop_parameters(path)), true)),
            ("decodes, backslashes, follows", follow(&unquote(path).replace('\\', "/"), true)),
            ("backslashes as sent", path.replace('\\', "/")),
            ("decodes twice, follows", follow(&unquote(&unquote(path)), true)),
            ("decodes twice", unquote(&unquote(path))),
        ]
    }
}

fn odd_path() -> impl Strategy<Value = String> {
    let pieces = [
        "/", "/", "/", "api", "login", "x", ".", "..", "%2e", "%2E%2e", "%2f", "%2F", "%5c", "\\", ";", ";x=1", "%3b",
        "%25", "2f", "%252e", "%61", "pi", "%", "%6cogin",
    ];
    vec(prop::sample::select(pieces.to_vec()), 0..9).prop_map(|parts| format!("/{}", parts.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_limit_is_never_narrower_than_any_application(path in odd_path()) {
        for (which, read) in application::all(&path) {
            let read = read.trim_end_matches('/');
            for pattern in ["/api", "/api/login", "/login"] {
                let below = read.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                prop_assert!(!below || prefix(pattern, &path), "{} {:?} as {:?}", which, path, read);
                prop_assert!(read != pattern || exact(pattern, &path), "{} {:?} as {:?}", which, path, read);
            }
        }
    }

    #[test]
    fn every_reading_is_resolved_for_good(path in odd_path()) {
        for reading in of(&path).unwrap_or_default() {
            prop_assert_eq!(without_slash_at_end(&reading), &*reading);
            let [_, _, _, once] = resolved(&reading);
            prop_assert_eq!(&resolved(&once)[3], &once);
        }
    }

    #[test]
    fn a_pattern_matches_the_path_that_spells_it(path in "/[a-zé%;~.\\\\-]{0,8}(/[a-z0-9]{1,4}){0,3}/?") {
        if let Ok(pattern) = PathPattern::parse(PathForm::Exact, &path, false) {
            prop_assert!(matches_any(&pattern, &path), "{:?} {:?}", pattern, of(&path));
        }
    }
}
