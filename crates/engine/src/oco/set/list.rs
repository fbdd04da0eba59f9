//! Lists the constraint sets that a spec can name, and reads them.

use super::{SetPlan, lp_ball, polytope, simplex};
use privateer_config::params::{Args, List, Named};

pub static SETS: List<Box<SetPlan>> = &[
    Named::new("lp-ball", "|theta|_p <= radius, 1 <= p <= infinity", "Han2022", lp_ball::parse),
    Named::new("simplex", "nonnegative parameters of a given sum", "", simplex::parse),
    Named::new("polytope", "the hull of stated vertices", "", polytope::parse),
];

/// Reads a constraint set under `key`; `None` if it is wrong (an error is then recorded).
pub fn parse_set(args: &Args<'_>, key: &'static str) -> Option<Box<SetPlan>> {
    let items = args.items(SETS);
    let variant = args.required_variant(key, "where parameters live", &items.names())?;
    let set = items.read(&variant.kind, &variant.args)?;
    variant.args.finish();
    args.absorb(&variant.args);
    Some(set)
}
