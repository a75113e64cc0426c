//! How often memory is asked for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[allow(unsafe_code, reason = "an allocator is; it hands everything on as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What `run` gives, and how often memory was asked for meanwhile.
pub(crate) fn counted<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = black_box(&COUNT).load(Ordering::SeqCst);
    // or the optimiser, which knows that an allocator looks at nothing else, counts before it runs
    let given = black_box(run());
    (given, black_box(&COUNT).load(Ordering::SeqCst) - before)
}
