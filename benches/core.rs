//! Criterion benches of the hot paths.
fn main() {}
