//! Screens over the lanes of a device: what a device computes fast is turned into candidates that are certain.
//!
//! A device keeps mean and spread² of every point of many trials in f32 or f64; the host keeps, for each trial, a bound on
//! what rounding may have done to them since they were last started, and hands it along every round. Only candidates
//! come back.
//!
//! **The band.** Let `u` be the roundoff of the device's type and `tau = 2 sqrt` of its error (see
//! [`Precision`](super::device::Precision)). Every sum of `K` products errs, in any order and with or without fused operations, by at most
//! `gamma = 1.25 (K + 8) u` of the sum of magnitudes `A`; the 8 covers the rounding of both factors, the 1.25 higher orders.
//!
//! * A row: `|p̂ - p| <= e_p = gamma A + (kernel error) sum |row_i|`. With `q = scale p` and `eps = scale e_p`, the falls of
//!   spread² since the anchor err by `sum (2 |q| eps + eps²) <= 2 s_a sqrt(E) + E`, `E = sum eps²` (Cauchy and Schwarz, as
//!   `sum q(x)² <= s_a(x)²`, the spread² at the anchor: a point that was certain at the anchor has little left to lose), and by
//!   `(n + 10) u s_a²` for roundings over `n` observations.
//! * A start from the prior or from f64 values: one rounding, within the last term. From a factor: `|ŝ - s| <= e_s =
//!   gamma |R|_F max |h|`, so `2 e_s s_a + 3 e_s²` more. A factor that is removed from the prior: absolute, `2 e_s sqrt(P) + e_s² +
//!   (K + 10) u P`, `P` the prior's bound.
//! * The mean: `gamma |w| max |h|` for a factor; an observation adds `|step| (e_p + 3 u |p|) + u |mean|`, `|p| <= s / scale`, `s` the model's
//!   spread, not the device's.
//! * To these come the f64 state's own rounding ([`ScoreModel::state_error`](privateer_gp::score::ScoreModel::state_error)), the tie tolerance, and the roundings of the
//!   score itself.
//!
//! All of it is `e(x) = c0 + c1 a(x) + c2 a(x)²` with the anchor `a(x) = ŝ_a(x)` kept on the device, and one number `c`.
//!
//! **Starting anew** costs a factor on the device or `n_points` exact scores on the host; not starting costs an exact score
//! for every candidate beyond the first. A lane starts anew when it has paid as much for candidates as a start costs,
//! so never more than twice the least. More candidates than a device names: the lane is looked at again from a factor,
//! or scanned in f64.
//!
//! **The type.** Kernels are screened in f64 where a device has it, as their differences cancel; features in f32 until its
//! candidates have cost as much as f64 would have (`ledger`).
//!
//! **Trust.** Every answer must carry its round's stamp, have scored every point, and name points that exist. Every
//! `CHECK_EVERY` rounds of a lane, exact scores of its candidates and of some other points are compared with what the device
//! claims. What fails any of it is [`Error::Untrusted`](privateer_config::error::Error::Untrusted): earlier answers may be wrong as well.

mod backend;
mod ledger;
mod plan;
mod screen;
mod trust;

pub use backend::Batched;
