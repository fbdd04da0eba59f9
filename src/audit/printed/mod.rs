//! Attacks printed claims that are false; each attack refutes one.
//!
//! Where the engine has the printed mechanism, that mechanism is attacked; elsewhere a model of the printed step, which its
//! documentation declares.

pub mod dubey2021;
pub mod han2022;
pub mod kharkovskii2020;
pub mod zhou2021;
