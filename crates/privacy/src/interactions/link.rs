//! Defines the inverse link functions of generalised linear rewards.

/// Maps a product to a mean reward, `zeta(<x, theta>)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// `zeta(z) = z`.
    Linear,
    /// `zeta(z) = 1/(1 + e^-z)`.
    Logistic,
}

impl Link {
    /// Names of the links in specs, each with its link.
    pub const NAMED: [(&'static str, Self); 2] = [("linear", Self::Linear), ("logistic", Self::Logistic)];

    /// Returns `zeta(z)`.
    pub fn mean(self, z: f64) -> f64 {
        match self {
            Self::Linear => z,
            Self::Logistic if 0.0 <= z => 1.0 / (1.0 + libm::exp(-z)),
            Self::Logistic => {
                let e = libm::exp(z);
                e / (1.0 + e)
            }
        }
    }

    /// Returns the largest slope of `zeta`.
    /// This is the smoothness beta of the loss with gradient `(zeta(<x, theta>) - r) x`, for `|x|_inf <= 1`.
    pub fn slope(self) -> f64 {
        match self {
            Self::Linear => 1.0,
            Self::Logistic => 0.25,
        }
    }

    /// Returns the range of `zeta` for `|z| <= most`.
    pub fn range(self, most: f64) -> (f64, f64) {
        (self.mean(-most), self.mean(most))
    }
}
