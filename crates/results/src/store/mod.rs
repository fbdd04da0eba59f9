//! Results in an object store: runs that keep their parts below `s3://BUCKET/PREFIX`, and folders made from such a prefix.
//!
//! Objects have the names of the files of a results folder. A part, the released parameters beside it and the resolved spec are put
//! only where nothing is: an object with the same bytes is success, one with other bytes an error. `manifest.json` is the one of the
//! run that came first; every run that finished a part adds `runs/DIGEST.json` and `timings/DIGEST.csv`. Each part carries its
//! SHA-256 as metadata. Credentials come from the environment and are written nowhere.
//!
//! **Not here:** simulating, recording, merging. A run works in a temporary folder, whose listed parts are put while it runs.

mod bucket;
mod download;
mod staged;

pub use bucket::Bucket;
pub use download::{download, stored_parts};
pub use staged::run_to_store;
