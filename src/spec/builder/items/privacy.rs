//! Typed builders of privacy and of curators, made from the lists (`PRIVATEER_UPDATE=1 cargo test reference`).

use super::super::macros::items;
use super::super::{Item, SettingValue};

items! {
    /// The table `[privacy]` of bandits.
    Privacy = Item::table_of_keys(); {
        /// Sets `mechanism`: how rewards or sums are randomised; `auto`: policy and calibration pick. Accepts one of `auto`, `none`, `laplace`, `duchi`, `piecewise`, `hybrid`, `gaussian`, `tree`, `honaker`, `blt`, `sqrt-toeplitz`, `local-gaussian`; default: auto.
        mechanism("mechanism"): &str,
        /// Sets `calibration`: the paper to the letter, the least repair, or the least noise. Accepts one of `as-printed`, `corrected`, `tight`; default: tight.
        calibration("calibration"): &str,
        /// Sets `epsilon`: privacy loss of one user's reward. Accepts a finite number > 0; default: none; every mechanism but `none` requires it.
        epsilon("epsilon"): f64,
        /// Sets `delta`: failure probability of the claim. Accepts a number > 0 and < 1; default: none; `gaussian` and all mechanisms for sums require it.
        delta("delta"): f64,
        /// Sets `clip`: \[lo, hi\]: rewards are clipped to this range before the mechanism. Accepts an array of numbers.
        clip("clip"): Vec<f64>,
    }
    /// The table `[privacy]` of online convex optimization.
    GradientPrivacy = Item::table_of_keys(); {
        /// Sets `mechanism`: noise on gradients or choices; `auto`: calibration and learner pick. Accepts one of `auto`, `none`, `gaussian`, `generalized-gaussian`, `laplace`, `gumbel`; default: auto.
        mechanism("mechanism"): &str,
        /// Sets `calibration`: the paper to the letter, the least repair, or the least noise. Accepts one of `as-printed`, `corrected`, `tight`; default: tight.
        calibration("calibration"): &str,
        /// Sets `epsilon`: privacy loss of one sample, over the whole run. Accepts a finite number > 0; default: none; every mechanism but `none` requires it.
        epsilon("epsilon"): f64,
        /// Sets `delta`: failure probability of the claim. Accepts a number > 0 and < 1; default: one over the number of rounds.
        delta("delta"): f64,
        /// Sets `clip`: whether features and gradients are clipped; `auto`: not in the as-printed calibration. Accepts one of `auto`, `on`, `off`; default: auto.
        clip("clip"): &str,
        /// Sets `factorisation`: how the noise of prefix sums is made; `auto`: blt in the tight calibration, else the tree. Accepts one of `auto`, `blt`, `tree`, `honaker`, `sqrt-toeplitz`; default: auto.
        factorisation("factorisation"): &str,
        /// Sets `stated_smoothness`: smoothness that the printed formulas are given. Accepts a number > 0 and <= 1e9; default: 1.
        stated_smoothness("stated_smoothness"): f64,
        /// Sets `stated_lipschitz`: Lipschitz constant that the printed formulas are given. Accepts a number > 0 and <= 1e9; default: 1.
        stated_lipschitz("stated_lipschitz"): f64,
    }
    /// The table `[curator]`.
    Curator = Item::table_of_keys(); {
        /// Sets `mechanism`: mechanism that releases inputs; `auto`: the calibration picks; `none`: inputs are released unchanged. Accepts one of `auto`, `none`, `input-noise`, `projection`, `projection-always-lift`; default: auto.
        mechanism("mechanism"): &str,
        /// Sets `calibration`: the paper to the letter, the least repair, or what has a guarantee. Accepts one of `as-printed`, `corrected`, `tight`; default: tight.
        calibration("calibration"): &str,
        /// Sets `epsilon`: privacy loss of one row of the inputs. Accepts a finite number > 0; default: must be given.
        epsilon("epsilon"): f64,
        /// Sets `delta`: failure probability of the claim. Accepts a number > 0 and < 1; default: must be given.
        delta("delta"): f64,
        /// Sets `radius`: neighbours differ in one row, by at most this (L2, after any scaling by `norm`; ledgers state it in units of the inputs). Accepts a finite number > 0; default: must be given for `input-noise`; 1 for the projections.
        radius("radius"): f64,
        /// Sets `columns`: r: coordinates of a released row. Accepts a whole number from 1 to 10000; default: as many as the inputs have.
        columns("columns"): u64,
        /// Sets `norm`: scale the centred inputs so that this stands for `bound` before the mechanism; `radius` counts in these units. Accepts a finite number > 0; default: no scaling.
        norm("norm"): f64,
        /// Sets `bound`: public bound on the norm of a centred row, in units of the inputs; longer rows are moved to it. Accepts a finite number > 0; default: with `norm`, the data's own largest, which is not private.
        bound("bound"): f64,
    }
}
