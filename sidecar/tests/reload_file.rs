//! Policies in a file change while the sidecar runs.
use super::app::App;
use super::client::get;
use super::policies::{PolicyFile, enough_of_the_hour, per_user};
use super::sidecar::{PATIENCE, Sidecar};
use std::fs;
use std::time::Instant;

async fn until_limit(sidecar: &Sidecar, limit: u64) {
    let began = Instant::now();
    while get(sidecar.listen, "/", &[("x-user", "watch")]).await.number("x-ratelimit-limit") != limit {
        assert!(began.elapsed() < PATIENCE, "still another limit than {limit}: {}", sidecar.log());
    }
}

#[tokio::test]
async fn an_edit_is_in_force_however_the_editor_writes_and_counts_are_kept() {
    enough_of_the_hour().await;
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    for _ in 0..5 {
        get(sidecar.listen, "/", &[("x-user", "ann")]).await;
    }
    // written over
    fs::write(&file.path, per_user(30)).unwrap();
    until_limit(&sidecar, 30).await;
    // written beside and renamed onto it
    let beside = file.path.with_extension("new");
    fs::write(&beside, per_user(40)).unwrap();
    fs::rename(&beside, &file.path).unwrap();
    until_limit(&sidecar, 40).await;
    // and once more, since a watch on the file itself would be lost now
    fs::write(&file.path, per_user(50)).unwrap();
    until_limit(&sidecar, 50).await;
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "ann")]).await.number("x-ratelimit-remaining"), 50 - 6);
}

#[tokio::test]
async fn a_broken_empty_or_missing_file_keeps_the_last_good_policies() {
    enough_of_the_hour().await;
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    fs::write(&file.path, "kind: [RateLimitPolicy").unwrap();
    sidecar.logs("the last good ones stay").await;
    until_limit(&sidecar, 20).await;
    fs::write(&file.path, "").unwrap();
    sidecar.logs("is empty").await;
    fs::remove_file(&file.path).unwrap();
    sidecar.logs("is not there any more").await;
    until_limit(&sidecar, 20).await;
    fs::write(&file.path, per_user(30)).unwrap();
    until_limit(&sidecar, 30).await;
}

#[tokio::test]
async fn a_change_that_the_kernel_does_not_tell_of_is_seen_all_the_same() {
    enough_of_the_hour().await;
    let (app, real) = (App::start().await, PolicyFile::new(&per_user(20)));
    let folder = tempfile::TempDir::new().unwrap();
    let link = folder.path().join("policies.yaml");
    std::os::unix::fs::symlink(&real.path, &link).unwrap();
    let sidecar = Sidecar::start(app.address, &["--policy", link.to_str().unwrap()]);
    until_limit(&sidecar, 20).await;
    // in another folder than the one that is watched
    fs::write(&real.path, per_user(30)).unwrap();
    until_limit(&sidecar, 30).await;
}

#[tokio::test]
async fn what_may_surprise_in_a_policy_is_logged_and_told() {
    let skipping = format!("{}\n    onMissingKey: Skip\n", per_user(20).trim_end());
    let (app, file) = (App::start().await, PolicyFile::new(&skipping));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let warning = "spec.limits[0].onMissingKey: Skip leaves requests without header x-user unlimited by per-user";
    sidecar.logs(warning).await;
    let told = get(sidecar.local, "/policy", &[]).await.json();
    assert_eq!(told["status"]["policies"][0]["running"]["warnings"], serde_json::json!([warning]), "{told}");
}
