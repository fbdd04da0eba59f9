//! Whole jobs against plain loops.
