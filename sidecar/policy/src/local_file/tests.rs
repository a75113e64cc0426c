//! What a local file may hold, and how each fault in it is named.

use super::*;

const POLICY: &str =
    "apiVersion: weir.dev/v1alpha1\nkind: RateLimitPolicy\nmetadata:\n  name: api\nspec:\n  limits: []\n";

fn faults(text: &str) -> String {
    read_policies(text).unwrap_err().to_string()
}

#[test]
fn a_document_is_a_policy_with_what_a_file_lacks_filled_in() {
    let entries = read_policies(POLICY).unwrap();
    assert_eq!(entries.len(), 1);
    let entry = &entries[0];
    assert_eq!((entry.namespace.as_str(), entry.name.as_str()), ("default", "api"));
    assert_eq!((entry.uid.as_str(), entry.generation), ("", 1));
    assert_eq!(entry.spec, serde_json::json!({"limits": []}));
}

#[test]
fn several_documents_are_several_policies() {
    let text =
        format!("# comment\n---\n{POLICY}---\n{}---\n", POLICY.replace("name: api", "name: b\n  namespace: shop"));
    let names: Vec<String> =
        read_policies(&text).unwrap().iter().map(|e| format!("{}/{}", e.namespace, e.name)).collect();
    assert_eq!(names, ["default/api", "shop/b"]);
}

#[test]
fn an_empty_file_holds_no_policies() {
    assert_eq!(read_policies("").unwrap(), []);
    assert_eq!(read_policies("# nothing\n---\n").unwrap(), []);
}

#[test]
fn what_kubectl_get_prints_can_be_used_as_it_is() {
    let text = POLICY
        .replace("name: api", "name: api\n  generation: 7\n  uid: abc\n  resourceVersion: '5'\n  labels: {a: b}")
        + "status: {limits: 1}\n";
    assert_eq!(read_policies(&text).unwrap()[0].generation, 7);
}

#[test]
fn each_fault_names_its_field_and_what_would_be_right() {
    let cases = [
        (POLICY.replace("weir.dev/v1alpha1", "weir.dev/v1"), "apiVersion: is \"weir.dev/v1\"; write weir.dev/v1alpha1"),
        (POLICY.replace("apiVersion: weir.dev/v1alpha1\n", ""), "apiVersion: is required; write weir.dev/v1alpha1"),
        (POLICY.replace("RateLimitPolicy", "Deployment"), "kind: is \"Deployment\"; write RateLimitPolicy"),
        (POLICY.replace("name: api", "name: API"), "metadata.name: must be at most 253 lower-case letters"),
        (POLICY.replace("name: api", "namespace: a"), "metadata.name: is required; name the policy, such as api"),
        (POLICY.replace("name: api", "name: 7"), "metadata.name: must be a string, is the number 7; put it in quotes"),
        (POLICY.replace("name: api", "name: api\n  namespace: ''"), "metadata.namespace: must be"),
        (POLICY.replace("metadata:\n  name: api\n", ""), "metadata.name: is required"),
        (POLICY.replace("metadata:\n  name: api\n", "metadata: api\n"), "metadata: must be fields such as name: api"),
        (POLICY.replace("spec:\n  limits: []", ""), "spec: is required"),
        (POLICY.to_owned() + "limits: []\n", "limits: unknown field; known here: apiVersion, kind, metadata, spec"),
        ("- a\n".to_owned(), "must be a RateLimitPolicy, is a list"),
        ("a: [".to_owned(), "document 1: is not YAML that can be read"),
    ];
    for (text, expected) in cases {
        assert!(faults(&text).starts_with(expected), "{text}\n wanted {expected}\n found {}", faults(&text));
    }
}

#[test]
fn all_faults_of_all_documents_are_said_at_once() {
    let text = format!(
        "{}---\n{POLICY}---\n{POLICY}---\n[]\n",
        POLICY.replace("RateLimitPolicy", "Pod").replace("api\n", "b\n")
    );
    assert_eq!(
        faults(&text).lines().collect::<Vec<_>>(),
        [
            "document 1: kind: is \"Pod\"; write RateLimitPolicy",
            "document 3: metadata.name: policy default/api comes twice; give each a name of its own",
            "document 4: must be a RateLimitPolicy, is a list",
        ]
    );
}
