//! A place in a spec of which the shape is known: its pieces are read only where the shape is right, so that one fault hides
//! no other and none is said twice.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::Collector;

/// A value with its path.
#[derive(Clone, Debug)]
pub(super) struct Node<'s> {
    path: String,
    value: &'s Value,
    /// What is wrong with the shape of the whole spec.
    shape: &'s Collector,
}

impl<'s> Node<'s> {
    pub(super) fn root(path: &str, value: &'s Value, shape: &'s Collector) -> Self {
        Self { path: path.to_owned(), value, shape }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The path of a field.
    pub(super) fn at(&self, field: &str) -> String {
        format!("{}.{field}", self.path)
    }

    /// A field, if it is there.
    pub(super) fn child(&self, field: &str) -> Option<Self> {
        let value = self.value.get(field)?;
        Some(Self { path: self.at(field), value, shape: self.shape })
    }

    /// The entries of a list.
    pub(super) fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        let item = |(i, value)| Self { path: format!("{}[{i}]", self.path), value, shape: self.shape };
        items.iter().enumerate().map(item).collect()
    }

    /// The names and values of a map.
    pub(super) fn entries(&self) -> Vec<(&'s str, Self)> {
        let fields = self.value.as_object().into_iter().flatten();
        let entry = |(name, value): (&'s String, &'s Value)| {
            (name.as_str(), Self { path: self.at(name), value, shape: self.shape })
        };
        fields.map(entry).collect()
    }

    /// The value as a `T`; `None` where the shape is wrong, which has been said.
    pub(super) fn value<T: DeserializeOwned>(&self) -> Option<T> {
        if self.shape.touches(&self.path) {
            return None;
        }
        T::deserialize(self.value).ok()
    }

    /// A field as a `T`; `None` where it is absent or its shape is wrong.
    pub(super) fn read<T: DeserializeOwned>(&self, field: &str) -> Option<T> {
        self.child(field)?.value()
    }

    /// True when nothing is wrong with the shape here or inside.
    pub(super) fn is_sound(&self) -> bool {
        !self.shape.touches(&self.path)
    }
}
