//! Items that a program adds to the lists of what a spec can name.

use super::{Args, Named};
use std::any::{Any, TypeId};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads one item from its table.
pub type ReadItem<T> = Arc<dyn Fn(&Args<'_>) -> T + Send + Sync>;

/// A list of this program: each item is read by a function.
pub type List<T> = &'static [Named<fn(&Args<'_>) -> T>];

/// Describes one added item.
pub struct Extension<T> {
    /// The item's name in specs.
    pub name: &'static str,
    /// One line that describes it.
    pub summary: &'static str,
    /// Reads its keys.
    pub read: ReadItem<T>,
}

/// Holds the added items of every kind; a kind is the type that reading gives.
#[derive(Clone, Default)]
pub struct Extensions {
    items: Vec<(&'static str, TypeId, Arc<dyn Any + Send + Sync>)>,
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.items.iter().map(|(name, ..)| name)).finish()
    }
}

impl Extensions {
    /// Adds an item; an added item of the same name and kind is replaced.
    pub fn add<T: 'static>(&mut self, name: &str, summary: &str, read: ReadItem<T>) {
        let extension = Extension { name: interned(name), summary: interned(summary), read };
        self.items.retain(|(known, kind, _)| *known != name || *kind != TypeId::of::<T>());
        self.items.push((extension.name, TypeId::of::<T>(), Arc::new(extension)));
    }

    /// Returns the added items of a kind, in the order of their addition.
    pub fn of<T: 'static>(&self) -> impl Iterator<Item = &Extension<T>> {
        self.items.iter().filter_map(|(_, _, item)| item.downcast_ref())
    }
}

/// A list of this program together with the items that were added to it.
pub struct Items<'a, T: 'static> {
    list: List<T>,
    added: &'a Extensions,
}

impl<'a, T: 'static> Items<'a, T> {
    /// Combines a list with what was added to it.
    pub fn new(list: List<T>, added: &'a Extensions) -> Self {
        Self { list, added }
    }

    /// Returns all names, those of this program first.
    pub fn names(&self) -> Vec<&'static str> {
        self.list.iter().map(|entry| entry.name).chain(self.added.of::<T>().map(|item| item.name)).collect()
    }

    /// Reads the item of this name; `None` for an unknown name.
    pub fn read(&self, name: &str, args: &Args<'_>) -> Option<T> {
        match self.list.iter().find(|entry| entry.name == name) {
            Some(entry) => Some((entry.build)(args)),
            None => self.added.of::<T>().find(|item| item.name == name).map(|item| (item.read)(args)),
        }
    }
}

/// Returns the same text for the whole run of the program.
///
/// Names of items are compared and kept everywhere, so each different name is stored once and never freed.
pub fn interned(text: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(text) {
        return found;
    }
    let kept: &'static str = String::leak(text.to_owned());
    known.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Sources;
    use crate::params::Sink;

    static LIST: List<u64> = &[Named { name: "own", summary: "", paper: "", build: |_| 1 }];

    #[test]
    fn added_items_stand_behind_the_own() {
        let mut added = Extensions::default();
        added.add::<u64>("mine", "first", Arc::new(|_| 2));
        added.add::<u64>("mine", "second", Arc::new(|_| 3));
        added.add::<String>("other", "", Arc::new(|_| String::new()));
        let (items, sink) = (Items::new(LIST, &added), Sink::new(Sources::default()));
        assert_eq!(items.names(), ["own", "mine"]);
        let read = |name| items.read(name, &Args::dry(&sink));
        assert_eq!((read("own"), read("mine"), read("other")), (Some(1), Some(3), None));
        assert!(std::ptr::eq(interned("mine"), interned("mine")));
    }
}
