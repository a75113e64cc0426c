use super::*;

fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

#[test]
fn the_layout_of_a_key_is_frozen() {
    let zeros = StateKey::new(&InstallKey::ZEROS, &namespace("shop"), b"identity");
    assert_eq!(format!("{zeros:?}"), "weir:{shop}:FBYmfA7VNLps2OesnmROvg");
    let keyed = StateKey::new(&InstallKey::from_bytes([7; 32]), &namespace("shop"), b"identity");
    assert_eq!(format!("{keyed:?}"), "weir:{shop}:88a_UEsMQ4VpXLEbuTwiMg");
}

#[test]
fn the_longest_namespace_fits_and_the_digest_is_whole() {
    let long = "n".repeat(63);
    let key = StateKey::new(&InstallKey::ZEROS, &namespace(&long), b"identity");
    let short = StateKey::new(&InstallKey::ZEROS, &namespace("shop"), b"identity");
    assert_eq!(key.as_bytes().len(), 6 + 63 + 2 + 22);
    assert!(key.as_bytes().ends_with(&short.as_bytes()[12..]));
    assert_eq!(key.short(), short.short());
}

#[test]
fn keys_differ_by_install_key_by_namespace_and_by_identity() {
    let base = StateKey::new(&InstallKey::ZEROS, &namespace("shop"), b"a");
    assert_eq!(base, StateKey::new(&InstallKey::ZEROS, &namespace("shop"), b"a"));
    assert_ne!(base, StateKey::new(&InstallKey::from_bytes([1; 32]), &namespace("shop"), b"a"));
    assert_ne!(base, StateKey::new(&InstallKey::ZEROS, &namespace("shop-b"), b"a"));
    assert_ne!(base, StateKey::new(&InstallKey::ZEROS, &namespace("shop"), b"b"));
}

#[test]
fn a_namespace_that_could_break_out_of_the_hash_tag_is_refused() {
    for bad in ["", "-a", "a-", "A", "a}b", "a{b", "a b", "a:b", "ä", &"n".repeat(64)] {
        let error = Namespace::new(bad).unwrap_err().to_string();
        assert!(error.contains("must be 1 to 63"), "{error}");
    }
}

#[test]
fn an_install_key_is_the_base64_of_32_bytes() {
    let key = InstallKey::from_base64(" AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n").unwrap();
    assert_eq!(key, InstallKey::from_bytes([1; 32]));
    for bad in ["", "AQEB", "not base64!", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"] {
        assert_eq!(InstallKey::from_base64(bad), Err(InvalidInstallKey));
    }
}

#[test]
fn ids_tell_keys_apart_and_debug_shows_no_secret() {
    let key = InstallKey::from_bytes([7; 32]);
    assert_ne!(key.id(), InstallKey::ZEROS.id());
    assert_eq!(key.id().len(), 8);
    assert_eq!(format!("{key:?}"), format!("InstallKey({})", key.id()));
}
