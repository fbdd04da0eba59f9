// Definitions for shaders that compute in f64.

alias Real = f64;

// Whether polynomials need the additional terms of f64.
const DOUBLE: bool = true;

// Numbers beyond this are not finite.
const LARGEST: Real = 1.7976931348623157e308lf;

// ln 2 in two parts; small multiples of the first are exact.
const LN2_HIGH: Real = 6.93147180369123816490e-01lf;
const LN2_LOW: Real = 1.90821492927058770002e-10lf;

// exp(-t) is taken as 0 beyond this.
const EXP_CUTOFF: Real = 700.0lf;

// 2^-128, 2^-256, 2^-512.
const POWER_7: Real = 2.938735877055718769922e-39lf;
const POWER_8: Real = 8.636168555094444625387e-78lf;
const POWER_9: Real = 7.458340731200206743291e-155lf;

// Covers the rounding of a sum of a few numbers.
const GROWTH: Real = 1.000000000000002lf;
