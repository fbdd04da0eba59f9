//! Bounds blocks by interpolation from a grid, where features are smooth over a plane.

mod checks;
mod grid;
mod stencil;

pub use checks::{Checks, Slack};
pub use grid::InterpolationGrid;
