//! Reads the key `link` of contextual environments.

use privateer_config::params::Args;
use privateer_privacy::interactions::Link;

/// Reads the key `link`: the mean reward as a function of the product of context and parameter.
pub fn read(args: &Args<'_>) -> Link {
    let names = Link::NAMED.map(|(name, _)| name);
    let named = args.word("link", "mean reward as a function of <x, theta>", &names, Some(names[0]));
    Link::NAMED.into_iter().find(|(name, _)| *name == named).map_or(Link::Linear, |(_, link)| link)
}
