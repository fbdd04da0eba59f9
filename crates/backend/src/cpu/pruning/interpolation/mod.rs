//! Bounds blocks by interpolation from a grid, where features are smooth over a plane.

mod grid;
mod stencil;
mod values;

pub use grid::InterpolationGrid;
pub use values::GridValues;
