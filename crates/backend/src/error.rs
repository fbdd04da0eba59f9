//! Defines the errors of backends.

use std::fmt;
use std::path::Path;

/// The reason why a backend cannot screen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendError {
    /// No graphics adapter suits.
    NoAdapter {
        /// Whether software adapters would have been taken as well.
        any: bool,
        /// The name or number that was asked for.
        named: Option<String>,
        /// The adapters found, each with what it lacks.
        found: Vec<String>,
    },
    /// A buffer exceeds the device's limit.
    TooLarge {
        /// The buffer.
        buffer: String,
        /// Bytes it would need.
        needs_bytes: u64,
        /// Bytes allowed.
        limit_bytes: u64,
        /// The device.
        device: String,
    },
    /// The device has no memory left.
    OutOfMemory {
        /// The device.
        device: String,
        /// The attempted action, as in "compile the shader".
        action: String,
    },
    /// The device cannot do what the basis or the precision needs.
    Unsuitable {
        /// What it cannot do.
        problem: String,
    },
    /// The device rejected a call, hangs, or is gone.
    Lost {
        /// What happened.
        problem: String,
    },
    /// The device returned impossible values, so its earlier answers may be wrong as well.
    Untrusted {
        /// The values.
        problem: String,
    },
    /// The caller broke the contract of a trait of this crate.
    Misused {
        /// How.
        problem: String,
    },
}

impl BackendError {
    /// Returns the error of a device that cannot do something.
    pub fn unsuitable(problem: impl Into<String>) -> Self {
        Self::Unsuitable { problem: problem.into() }
    }

    /// Returns the error of a device that failed.
    pub fn lost(problem: impl Into<String>) -> Self {
        Self::Lost { problem: problem.into() }
    }

    /// Returns the error of a device that is no longer trusted.
    pub fn untrusted(problem: impl fmt::Display) -> Self {
        Self::Untrusted { problem: format!("the device {problem}") }
    }

    /// Returns whether another backend can continue in the same round: earlier answers are right, and the trials are unchanged.
    pub fn can_be_replaced(&self) -> bool {
        !matches!(self, Self::Untrusted { .. } | Self::Misused { .. })
    }
}

/// Returns what to do where NVIDIA's kernel driver is there and its Vulkan driver may be missing.
pub fn hidden_card() -> Option<&'static str> {
    let hint = "an NVIDIA card is there, and its Vulkan driver seems to be missing: in a container, `NVIDIA_DRIVER_CAPABILITIES` has \
                to hold `graphics` beside `compute,utility`; a slice of a card (MIG) has no Vulkan";
    Path::new("/dev/nvidiactl").exists().then_some(hint)
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAdapter { found, .. } if found.is_empty() => {
                write!(f, "no graphics adapter was found, or no Vulkan driver")?;
                hidden_card().map_or(Ok(()), |hint| write!(f, "; {hint}"))
            }
            Self::NoAdapter { named: Some(name), found, .. } if !found.is_empty() => {
                write!(f, "no adapter that suits is `{name}`; found {}", found.join(", "))
            }
            Self::NoAdapter { any: false, found, .. } => write!(f, "no hardware adapter suits; found {}", found.join(", ")),
            Self::NoAdapter { any: true, found, .. } => write!(f, "no adapter suits; found {}", found.join(", ")),
            Self::TooLarge { buffer, needs_bytes, limit_bytes, device } => {
                write!(
                    f,
                    "the buffer `{buffer}` would need {needs_bytes} bytes, more than the {limit_bytes} that {device} allows"
                )
            }
            Self::OutOfMemory { device, action } => write!(f, "{device} has no room left to {action}"),
            Self::Unsuitable { problem } | Self::Lost { problem } | Self::Untrusted { problem } | Self::Misused { problem } => {
                write!(f, "{problem}")
            }
        }
    }
}

impl std::error::Error for BackendError {}
