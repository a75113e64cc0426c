//! When to look at the disk again: at once when the kernel says that a folder changed, and each second anyway, since a
//! watch can be lost with its folder and not every file system tells.
use super::Reloader;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// How often it looks without being told.
const POLL: Duration = Duration::from_secs(1);
/// How long a burst of changes must be over: a file is often written in several steps.
const QUIET: Duration = Duration::from_millis(20);
/// A folder that never comes to rest is looked at anyway.
const LONGEST_BURST: u32 = 25;

/// Follows the disk for ever.
pub async fn follow(mut reloader: Reloader) {
    let (notice, mut notices) = mpsc::channel(1);
    let folders = reloader.source().folders();
    let mut watcher = Watch::start(&folders, notice.clone());
    // what changed between the caller's first look and the watch has told nobody
    let mut stamp = None;
    loop {
        let now = Some(reloader.source().stamp());
        let told = notices.try_recv().is_ok();
        if told || now != stamp {
            stamp = now;
            // reading and compiling take a moment, which requests should not wait for
            let looking = tokio::task::spawn_blocking(move || {
                let took = reloader.reload();
                (reloader, took)
            });
            let Ok((back, took)) = looking.await else {
                tracing::error!("following the policies has ended, those in force stay");
                return;
            };
            reloader = back;
            if took && !told {
                tracing::debug!("a change came without a notice, watching anew");
                watcher = Watch::start(&folders, notice.clone());
            } else if let Some(watch) = &mut watcher {
                // a folder that was replaced has taken its watch along; watching one that is watched changes nothing
                watch.again(&folders);
            }
        }
        wait(&mut notices, &notice).await;
    }
}

/// Waits for a notice, a second at most; after one until the burst is over. A notice that came is left to be found.
async fn wait(notices: &mut mpsc::Receiver<()>, notice: &mpsc::Sender<()>) {
    if tokio::time::timeout(POLL, notices.recv()).await.is_ok() {
        settle(notices).await;
        let _ = notice.try_send(());
    }
}

/// Waits until the notices stop for a moment.
async fn settle(notices: &mut mpsc::Receiver<()>) {
    for _ in 0..LONGEST_BURST {
        if tokio::time::timeout(QUIET, notices.recv()).await.is_err() {
            return;
        }
    }
}

struct Watch(RecommendedWatcher);

impl Watch {
    fn start(folders: &[PathBuf], notice: mpsc::Sender<()>) -> Option<Self> {
        let tell = move |event: notify::Result<notify::Event>| {
            // reading the folder is an event too, and its own look would never end
            let read_only = event.is_ok_and(|event| event.kind.is_access() && !closed_after_writing(&event.kind));
            if !read_only {
                // a notice is waiting already: it stands for this one too
                let _ = notice.try_send(());
            }
        };
        match notify::recommended_watcher(tell) {
            Ok(watcher) => {
                let mut watch = Self(watcher);
                watch.again(folders);
                Some(watch)
            }
            Err(error) => {
                tracing::warn!(%error, "the kernel won't tell of changed policies, looking each second instead");
                None
            }
        }
    }

    fn again(&mut self, folders: &[PathBuf]) {
        for folder in folders {
            if let Err(error) = self.0.watch(folder, RecursiveMode::NonRecursive) {
                tracing::debug!(folder = %folder.display(), %error, "can't watch, looking each second instead");
            }
        }
    }
}

fn closed_after_writing(kind: &notify::EventKind) -> bool {
    use notify::event::{AccessKind, AccessMode};
    matches!(kind, notify::EventKind::Access(AccessKind::Close(AccessMode::Write)))
}
