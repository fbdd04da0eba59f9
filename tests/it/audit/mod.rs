//! Attacks: what holds survives them, what does not is refuted, and every planted fault is.

mod alarms;
mod engine;
mod mutations;
mod noises;
mod registered;
mod runs;
