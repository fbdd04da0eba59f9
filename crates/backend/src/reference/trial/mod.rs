//! Plays rounds of a trial as a lane of the shader does, and certifies each action: what the shader is compared with.
//!
//! The loop keeps its own posterior over visited points (`posterior`), moments of the points by tiles of neighbours (`tiles`), and
//! bounds on the distance between its scores and those of the model that decides (`errors`). A round bounds all tiles,
//! visits the best ones, and either names the action that the host would choose, or stops (`rounds`). Sums are in the
//! order of a shader. Derivation: `docs/derivations/device-loop.md`.

mod errors;
mod posterior;
mod rounds;
mod tiles;

#[cfg(test)]
mod trial_tests;

pub use rounds::LoopTrial;
