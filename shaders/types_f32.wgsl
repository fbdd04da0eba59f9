// Definitions for shaders that compute in f32.

alias Real = f32;

// Whether polynomials need the additional terms of f64.
const DOUBLE: bool = false;

// Numbers beyond this are not finite.
const LARGEST: Real = 3.4028234663852886e38;

// ln 2 in two parts; small multiples of the first are exact.
const LN2_HIGH: Real = 0.693359375;
const LN2_LOW: Real = -2.12194440e-4;

// exp(-t) is taken as 0 beyond this.
const EXP_CUTOFF: Real = 87.0;

// 2^-128, 2^-256, 2^-512: not used in f32.
const POWER_7: Real = 1.0;
const POWER_8: Real = 1.0;
const POWER_9: Real = 1.0;

// Covers the rounding of a sum of a few numbers.
const GROWTH: Real = 1.000001;
