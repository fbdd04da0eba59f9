//! Problems that tests of the program share with those of its faults.

use std::fs;
use std::path::Path;

/// Releases the inputs of `data.csv`.
pub const CURATE: [&str; 14] = [
    "curate",
    "data.csv",
    "--columns",
    "x,y",
    "--epsilon",
    "8",
    "--delta",
    "1e-6",
    "--radius",
    "0.2",
    "--bound",
    "2.5",
    "-o",
    "released.csv",
];

/// Writes the modeler's spec over the released inputs.
pub fn spec(folder: &Path, privacy: &str, policy: &str) {
    let text = format!(
        "rounds = 8\n[environment]\nkind = \"points-table\"\nfile = \"released.csv\"\nreleased = \"released.csv.ledger.json\"\n\
         inputs = [\"x\", \"y\"]\nkernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\n\
         noise = {{ kind = \"gaussian\", sd = 0.05 }}\nbound = 1.0\n{privacy}\n[[policy]]\n{policy}\n"
    );
    fs::write(folder.join("modeler.toml"), text).expect("written");
}

/// A sweep of four trials in two blocks, all rounds recorded, with released parameters; `more` may add policies and axes.
pub fn sweep_with_parameters(more: &str) -> String {
    let text = r#"
name = "small"
seed = 5
rounds = 12
trials = 4
block = 2
record = { rounds = "all", parameters = true }
[environment]
kind = "rkhs"
domain = { kind = "grid", dimension = 1, points = 20 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 1.0 }
[privacy]
epsilon = 4.0
delta = 1e-5
[[policy]]
kind = "jdp-gp-ucb"
features = { kind = "nystrom", size = 6 }
privacy = { mechanism = "tree" }
"#;
    format!("{text}{more}")
}
