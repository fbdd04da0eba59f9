//! Lists the standard jobs: shipped specs at two sizes each.

use std::str::FromStr;

/// A shipped spec, and what makes it large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeedJob {
    /// Name of the file in `examples/speed/`, without its ending.
    pub name: &'static str,
    pub summary: &'static str,
    /// The spec, at its small size.
    pub spec: &'static str,
    /// Keys and values of the large size.
    pub large: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As the spec is written.
    Small,
    /// With the changes of [`SpeedJob::large`].
    Large,
}

impl Size {
    /// As it is written on the command line and in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Small, Self::Large].into_iter().find(|size| size.name() == text);
        known.ok_or_else(|| "expected small or large".to_owned())
    }
}

/// Builds one entry from the file's name.
macro_rules! job {
    ($name:literal, $summary:literal, $large:expr) => {
        SpeedJob { name: $name, summary: $summary, spec: include_str!(concat!("../../speed/", $name, ".toml")), large: $large }
    };
}

/// Many points and features, for fewer rounds.
const FEATURES: &[(&str, &str)] = &[("environment.domain.points", "10000"), ("policy.*.features.nodes", "12"), ("rounds", "100")];

pub static JOBS: [SpeedJob; 16] = [
    job!("constant-factor", "GP-UCB over quadrature Fourier features, exploration factor 2", FEATURES),
    job!("theory-factor", "the same with the theorem's exploration factor", FEATURES),
    job!("wide-factor", "the same with a factor that explores nearly every point", FEATURES),
    job!(
        "exact-posterior",
        "GP-UCB and IGP-UCB with the exact posterior",
        &[("environment.domain.points", "10000"), ("rounds", "100")]
    ),
    job!(
        "random-features",
        "GP-UCB over random Fourier features",
        &[("environment.domain.points", "10000"), ("policy.*.features.features", "72"), ("rounds", "100")]
    ),
    job!("private-sums", "GP-UCB from private sums that a tree releases every round", FEATURES),
    job!("outsourced", "GP-UCB over inputs that a curator released, each trial its own", &[("environment.domain.points", "100")]),
    job!("small-domain", "IGP-UCB over a small domain, where every covariance is kept", &[("rounds", "40000")]),
    job!("learners", "private online convex optimization", &[("rounds", "10000")]),
    job!("contexts", "private contextual bandits", &[("rounds", "10000")]),
    job!(
        "many-cells",
        "many small cells of one trial",
        &[("sweep.product.\"environment.noise.sd\"", "[0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19]")]
    ),
    job!("many-points", "a large domain", &[("environment.domain.points", "1000")]),
    job!(
        "private-table",
        "IGP-UCB with the exact posterior under local Laplace noise, in 2 and 8 dimensions",
        &[("environment.domain.points", "10000"), ("rounds", "200")]
    ),
    job!(
        "private-line",
        "private sums of a line, released every round and every tenth",
        &[("environment.domain.points", "1000")]
    ),
    job!(
        "decision-sets",
        "rounds whose decision set is 25 random points",
        &[("environment.domain.points", "10000"), ("environment.sets.points", "1000"), ("rounds", "100")]
    ),
    job!("middle-domain", "IGP-UCB over 300 points under local Laplace noise", &[("rounds", "20000")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_the_shipped_files() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("speed");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".toml"))
            .collect();
        files.sort();
        let mut names: Vec<String> = JOBS.iter().map(|job| format!("{}.toml", job.name)).collect();
        names.sort();
        assert_eq!(files, names);
    }
}
