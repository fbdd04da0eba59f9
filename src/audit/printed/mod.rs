//! Printed claims that are false, each met with an attack that refutes it. Where the engine has the printed mechanism, it is that
//! which is attacked; elsewhere a model of the printed step stands here, and says so.

pub mod dubey2021;
pub mod han2022;
pub mod kharkovskii2020;
pub mod zhou2021;
