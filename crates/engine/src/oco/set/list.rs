//! Lists the constraint sets that a spec can name, and reads them.

use super::{SetPlan, lp_ball, polytope, simplex};
use privateer_config::params::{Args, List, Named};

pub static SETS: List<Box<SetPlan>> = &[
    Named::new("lp-ball", "|theta|_p <= radius, 1 <= p <= infinity", "Han2022", lp_ball::parse),
    Named::new("simplex", "nonnegative parameters of a given sum", "", simplex::parse),
    Named::new("polytope", "the hull of stated vertices", "", polytope::parse),
];

/// Reads the key `set`; `None` if it is wrong (an error is then recorded).
pub fn parse_set(args: &Args<'_>) -> Option<Box<SetPlan>> {
    args.item(SETS, args.required_variant("set", "where parameters live", &args.items(SETS).names()))
}
