//! Defines the entries of lists of named items, such as kernels and policies.

/// Describes one item that a spec can name.
#[derive(Debug, Clone, Copy)]
pub struct Named<B: 'static> {
    /// The item's name in specs.
    pub name: &'static str,
    /// One line that describes it.
    pub summary: &'static str,
    /// Key of its paper, or empty.
    pub paper: &'static str,
    /// The function that reads it.
    pub build: B,
}

impl<B> Named<B> {
    /// Creates an entry.
    pub const fn new(name: &'static str, summary: &'static str, paper: &'static str, build: B) -> Self {
        Self { name, summary, paper, build }
    }
}

/// Returns the entry of this name.
pub fn find<B>(entries: &'static [Named<B>], name: &str) -> Option<&'static Named<B>> {
    entries.iter().find(|entry| entry.name == name)
}

/// Returns the names of a list, in its order.
pub fn names<B>(entries: &'static [Named<B>]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.name).collect()
}
