//! The rules as text; that they work is seen in a network namespace by the package's integration tests.
use super::*;

#[test]
fn the_rules_start_from_nothing_each_time_and_name_each_port_once() {
    assert_eq!(
        rules(&[9000, 8080, 9000], 15001).unwrap(),
        "table inet weir {}\n\
         delete table inet weir\n\
         table inet weir {\n\
         \tchain prerouting {\n\
         \t\ttype nat hook prerouting priority dstnat; policy accept;\n\
         \t\ttcp dport { 8080, 9000 } redirect to :15001\n\
         \t}\n\
         }\n"
    );
}

#[test]
fn the_sidecars_own_port_is_never_captured() {
    let error = rules(&[8080, 15001], 15001).unwrap_err().to_string();
    assert!(error.contains("--ports names 15001"), "{error}");
}
