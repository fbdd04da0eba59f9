//! Dense f64 routines in one fixed order of operations.
