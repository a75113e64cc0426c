use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn folder_source(folder: &Path) -> Source {
    Source { endpoint: None, credentials: Credentials::Folder(folder.to_path_buf()) }
}

/// Writes a version of a mounted Secret as the kubelet does: a new folder, then one rename of the link.
fn mount(folder: &Path, version: &str, files: &[(&str, &str)]) {
    fs::create_dir_all(folder.join(version)).unwrap();
    for (name, text) in files {
        fs::write(folder.join(version).join(name), text).unwrap();
        if fs::symlink_metadata(folder.join(name)).is_err() {
            symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
        }
    }
    symlink(version, folder.join("..data_tmp")).unwrap();
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

#[test]
fn a_folder_that_is_not_there_yet_is_not_a_fault() {
    let dir = tempfile::tempdir().unwrap();
    let source = folder_source(&dir.path().join("later"));
    assert!(source.read().unwrap().is_none());
    let before = source.stamp();
    mount(&dir.path().join("later"), "..1", &[("url", "redis://h")]);
    assert_ne!(source.stamp(), before);
    assert_eq!(source.read().unwrap().unwrap().endpoint.host, "h");
}

#[test]
fn a_folder_gives_url_user_password_ca_and_install_key() {
    let dir = tempfile::tempdir().unwrap();
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let files =
        [("url", "rediss://h:1/2\n"), ("user", "me"), ("password", " p w \n"), ("ca.crt", "pem"), ("install-key", key)];
    mount(dir.path(), "..1", &files);
    let target = folder_source(dir.path()).read().unwrap().unwrap();
    assert_eq!(target.endpoint.to_string(), "rediss://h:1/2");
    assert_eq!(target.endpoint.user.as_deref(), Some("me"));
    assert_eq!(target.endpoint.password.as_deref(), Some(" p w "));
    assert_eq!(target.ca.as_deref(), Some(&b"pem"[..]));
    assert_eq!(target.install_key, InstallKey::from_bytes([1; 32]));
}

#[test]
fn a_swap_of_the_link_changes_the_stamp_and_what_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let source = folder_source(dir.path());
    mount(dir.path(), "..1", &[("url", "redis://h"), ("password", "one")]);
    let first = (source.stamp(), source.read().unwrap().unwrap());
    assert_eq!(source.stamp(), first.0);
    mount(dir.path(), "..2", &[("url", "redis://h"), ("password", "two")]);
    assert_ne!(source.stamp(), first.0);
    assert_eq!(source.read().unwrap().unwrap().endpoint.password.as_deref(), Some("two"));
}

#[test]
fn the_flag_wins_over_the_folder_s_url_and_takes_the_rest_from_it() {
    let dir = tempfile::tempdir().unwrap();
    mount(dir.path(), "..1", &[("url", "redis://other"), ("password", "secret")]);
    let Ok(Address::Redis(endpoint)) = Address::parse("--store", "redis://mine") else { panic!() };
    let source = Source { endpoint: Some(endpoint), ..folder_source(dir.path()) };
    let target = source.read().unwrap().unwrap();
    assert_eq!((target.endpoint.host.as_str(), target.endpoint.password.as_deref()), ("mine", Some("secret")));
}

#[test]
fn a_fault_names_the_file_and_shows_no_secret() {
    for (name, text) in [("url", "hunter2"), ("url", "memory:"), ("install-key", "hunter2")] {
        let dir = tempfile::tempdir().unwrap();
        mount(dir.path(), "..1", &[("url", "redis://h"), (name, text)]);
        let error = folder_source(dir.path()).read().err().unwrap().to_string();
        assert!(error.contains(name) && error.contains("must be") | error.contains("expected"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn a_password_file_that_is_missing_is_named() {
    let Ok(Address::Redis(endpoint)) = Address::parse("--store", "redis://mine") else { panic!() };
    let credentials = Credentials::Files { password: Some("/nowhere/password".into()), ca: None };
    let error = Source { endpoint: Some(endpoint), credentials }.read().err().unwrap().to_string();
    assert!(error.starts_with("/nowhere/password: "), "{error}");
}
