//! Distinct keys in the order they came, each with its place. Buffers are kept over [`KeyTable::clear`], so that a
//! batch filled again and again allocates nothing for its keys.

use std::hash::{BuildHasher, RandomState};

/// Keys by place and places by key.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`.
    ends: Vec<usize>,
    /// Open addressing over a power of two: place + 1, or 0 for free.
    slots: Vec<u32>,
    hasher: RandomState,
}

// === impl KeyTable ===

impl KeyTable {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.slots.fill(0);
    }

    pub(crate) fn get(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.bytes[start..self.ends[place]]
    }

    /// The place of `key`, which is added when it is new.
    pub(crate) fn place(&mut self, key: &[u8]) -> usize {
        if self.slots.len() < (self.len() + 1) * 2 {
            self.grow();
        }
        let slot = self.slot(key);
        if self.slots[slot] > 0 {
            return self.slots[slot] as usize - 1;
        }
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.slots[slot] = self.len() as u32;
        self.len() - 1
    }

    /// Where `key` is in `slots`, or the free slot where it belongs.
    fn slot(&self, key: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hasher.hash_one(key) as usize & mask;
        while self.slots[slot] > 0 && self.get(self.slots[slot] as usize - 1) != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(16);
        self.slots.clear();
        self.slots.resize(slots, 0);
        for place in 0..self.len() {
            let slot = self.slot(self.get(place));
            self.slots[slot] = place as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyTable;

    #[test]
    fn a_key_keeps_its_place_while_the_table_grows_and_after_it_was_cleared() {
        let mut table = KeyTable::default();
        for round in 0..2 {
            for number in 0..500_usize {
                assert_eq!(table.place(format!("key {number}").as_bytes()), number, "round {round}");
            }
            for number in (0..500_usize).rev() {
                assert_eq!(table.place(format!("key {number}").as_bytes()), number, "round {round}");
                assert_eq!(table.get(number), format!("key {number}").as_bytes());
            }
            assert_eq!(table.len(), 500);
            table.clear();
            assert_eq!(table.len(), 0);
        }
    }

    #[test]
    fn the_empty_key_is_a_key_like_any_other() {
        let mut table = KeyTable::default();
        assert_eq!((table.place(b""), table.place(b"a"), table.place(b"")), (0, 1, 0));
    }
}
