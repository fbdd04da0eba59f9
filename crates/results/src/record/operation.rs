//! Names the operations on files, which tests make fail one by one.

/// A kind of file operation, for the fault seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "fault-injection"), expect(dead_code, reason = "only the fault seam reads the kind"))]
pub(super) enum Operation {
    Create,
    Open,
    Read,
    Write,
    Sync,
    Rename,
    Publish,
    Remove,
    List,
    MakeFolder,
}
