//! Lists the constraint sets that a spec can name, and reads them.

use super::{SetPlan, lp_ball, polytope, simplex};
use privateer_config::params::{Args, List, Named};

/// The registered constraint sets.
pub static SETS: List<Box<SetPlan>> = &[
    Named { name: "lp-ball", summary: "|theta|_p <= radius, 1 <= p <= infinity", paper: "Han2022", build: lp_ball::parse },
    Named { name: "simplex", summary: "nonnegative parameters of a given sum", paper: "", build: simplex::parse },
    Named { name: "polytope", summary: "the hull of stated vertices", paper: "", build: polytope::parse },
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
