//! Labels as Kubernetes' downward API writes them into a file: one `key="value"` a line, the value quoted as Go quotes.
use std::collections::BTreeMap;

/// Reads the file's text; an empty text means a pod without labels.
///
/// # Errors
/// When a line is not of that form; named is its number.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let value = |quoted: &str| serde_json::from_str::<String>(quoted).ok();
        match line.split_once('=').map(|(key, quoted)| (key, value(quoted))) {
            Some((key, Some(value))) if !key.is_empty() => labels.insert(key.to_owned(), value),
            _ => return Err(format!("line {} is not key=\"value\", as the downward API writes it", number + 1)),
        };
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_one_label() {
        let labels = parse("app=\"shop\"\napp.kubernetes.io/part-of=\"a \\\"b\\\"\"\nempty=\"\"\n").unwrap();
        assert_eq!(labels["app"], "shop");
        assert_eq!(labels["app.kubernetes.io/part-of"], "a \"b\"");
        assert_eq!(labels["empty"], "");
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        for bad in ["app=\"shop\"\nx", "app=\"shop\"\nx=y", "a=\"\"\n=\"v\""] {
            assert!(parse(bad).unwrap_err().starts_with("line 2 "), "{bad}");
        }
    }
}
