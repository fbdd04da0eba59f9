// Shared by all passes: buffers, their layout, the interval of a score, the formulas of kernels.
//
// Each pass has a reference implementation in plain loops on the CPU (`crates/backend/src/reference`) with the same
// buffers, padding and order of sums. A pass binds only the buffers that it uses. A workgroup has THREADS = SIDE x SIDE
// threads, as many as the device allows; the host inserts both constants before this text.

// Points per tile.
const TILE: u32 = 256u;
const NONE: u32 = 0xffffffffu;

// Planes of a device slot.
const P: u32 = 0u;
const MEAN: u32 = 1u;
const VARIANCE: u32 = 2u;
const VARIANCE_ERROR: u32 = 3u;

// Resets of a slot at the start of its round.
const START_KEEP: u32 = 0u;
const START_PRIOR: u32 = 1u;
const START_ADDED: u32 = 3u;

// Changes by an observation.
const VISIT_NONE: u32 = 0u;
const VISIT_WEIGHTS: u32 = 2u;

// Sizes, and the range of points of the bound table.
struct Shape {
    n_points: u32,
    // Number of points with padding: the length of a plane.
    stride: u32,
    n_tiles: u32,
    chunk_first: u32,
    // Length of a column of the bound table.
    chunk_len: u32,
    // Columns of a feature table; number of frequencies where the device computes one.
    n_columns: u32,
    // Coordinates of a point, where the device computes a table.
    dimension: u32,
    spare: u32,
}

// One slot's part of a round.
struct Work {
    slot: u32,
    start: u32,
    visit: u32,
    stamp: u32,
    // Index among the coefficients.
    row_at: u32,
    row_len: u32,
    // Index among the indices: columns of a table, or points of a kernel.
    slots_at: u32,
    // Index in `source`, where that holds coordinates.
    coords_at: u32,
    // Index among the coefficients: rows of a packed lower triangle, then the weights.
    factor_at: u32,
    factor_len: u32,
    // Index among the indices.
    subset_at: u32,
    n_scored: u32,
    // Index in `base`; the residual is one stride before.
    prior_at: u32,
    family: u32,
    dimension: u32,
    // Whether there is a subset.
    listed: u32,
    // Index among the coefficients.
    weights_at: u32,
}

// One slot's real numbers.
struct Numbers {
    // Factors on p: for the variance (squared), and for the mean.
    scale: Real,
    mean_step: Real,
    // Factors on the standard deviation in the lower and in the upper end.
    low: Real,
    high: Real,
    // Error of the score; what a round adds to the error of the variance: a constant, and factors on the fall's root, on the
    // variance and on its root.
    c: Real,
    c0: Real,
    c1: Real,
    c2: Real,
    c3: Real,
    kernel_scale: Real,
    kernel_offset: Real,
    // Term added for a point with itself.
    kernel_row_term: Real,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> works: array<Work>;
@group(0) @binding(2) var<storage, read> numbers: array<Numbers>;
// Starts of the lists of projected, factored and listed works, one unused; then column indices, subsets and the lists.
@group(0) @binding(3) var<storage, read> indices: array<u32>;
// Rows and factors. Where the device computes features: amplitudes, then frequencies.
@group(0) @binding(4) var<storage, read> coefficients: array<Real>;
// A table, columns x chunk_len; or coordinates, dimension x stride.
@group(0) @binding(5) var<storage, read> source: array<Real>;
// Residual and prior, stride each.
@group(0) @binding(6) var<storage, read> base: array<Real>;
// slots x 4 x stride
@group(0) @binding(7) var<storage, read_write> planes: array<Real>;
// works x 4 x n_tiles: largest lower end, upper end, variance, magnitude of the mean.
@group(0) @binding(8) var<storage, read_write> partials: array<Real>;
// works x n_tiles: number of scored points.
@group(0) @binding(9) var<storage, read_write> counts: array<u32>;
// works x 68: stamp, scored, count, checksum, list.
@group(0) @binding(10) var<storage, read_write> answers: array<u32>;
// works x 4
@group(0) @binding(11) var<storage, read_write> maxima: array<Real>;
// A table that the device computes.
@group(0) @binding(12) var<storage, read_write> table: array<Out>;

// Returns the start of a slot's plane.
fn plane(slot: u32, which: u32) -> u32 {
    return (slot * 4u + which) * shape.stride;
}

// Returns the larger number, or the second if the first is NaN.
fn larger(a: Real, b: Real) -> Real {
    return select(b, a, a > b);
}

// Returns whether a number is finite: comparisons with NaN are false.
fn in_range(a: Real) -> bool {
    return -LARGEST <= a && a <= LARGEST;
}

// A point's interval, its moments, and whether they are finite.
struct Scored {
    lower: Real,
    upper: Real,
    variance: Real,
    mean: Real,
    // 1 if lower end and variance are finite.
    counts: u32,
}

// Stands for no point.
fn nothing() -> Scored {
    return Scored(-LARGEST, -LARGEST, -LARGEST, Real(0.0), 0u);
}

// Computes the interval of a point.
fn interval(own: Numbers, mean: Real, variance: Real, e: Real) -> Scored {
    let lower = mean - own.c + own.low * sqrt(larger(variance - e, Real(0.0)));
    let upper = mean + own.c + own.high * sqrt(larger(variance + e, Real(0.0)));
    if (in_range(lower) && in_range(variance)) {
        return Scored(lower, upper, variance, abs(mean), 1u);
    }
    return nothing();
}

// Returns exp(-t) for t >= 0: t = k ln 2 + r, a Taylor polynomial in r, and a product of powers of two.
fn exp_negative(t: Real) -> Real {
    if (t > EXP_CUTOFF) {
        return Real(0.0);
    }
    let k = floor(t * Real(1.4426950408889634) + Real(0.5));
    let y = k * LN2_LOW - (t - k * LN2_HIGH);
    var sum = Real(0.0);
    if (DOUBLE) {
        sum = Real(1.6059043836821615e-10);
        sum = sum * y + Real(2.08767569878681e-9);
        sum = sum * y + Real(2.505210838544172e-8);
        sum = sum * y + Real(2.755731922398589e-7);
        sum = sum * y + Real(2.755731922398589e-6);
        sum = sum * y + Real(2.48015873015873e-5);
    }
    sum = sum * y + Real(1.984126984126984e-4);
    sum = sum * y + Real(1.388888888888889e-3);
    sum = sum * y + Real(8.333333333333333e-3);
    sum = sum * y + Real(4.1666666666666664e-2);
    sum = sum * y + Real(1.6666666666666666e-1);
    sum = sum * y + Real(0.5);
    sum = sum * y + Real(1.0);
    sum = sum * y + Real(1.0);
    let bits = u32(k);
    var power = Real(1.0);
    power *= select(Real(1.0), Real(0.5), (bits & 1u) != 0u);
    power *= select(Real(1.0), Real(0.25), (bits & 2u) != 0u);
    power *= select(Real(1.0), Real(0.0625), (bits & 4u) != 0u);
    power *= select(Real(1.0), Real(0.00390625), (bits & 8u) != 0u);
    power *= select(Real(1.0), Real(1.52587890625e-5), (bits & 16u) != 0u);
    power *= select(Real(1.0), Real(2.3283064365386963e-10), (bits & 32u) != 0u);
    power *= select(Real(1.0), Real(5.421010862427522e-20), (bits & 64u) != 0u);
    if (DOUBLE) {
        power *= select(Real(1.0), POWER_7, (bits & 128u) != 0u);
        power *= select(Real(1.0), POWER_8, (bits & 256u) != 0u);
        power *= select(Real(1.0), POWER_9, (bits & 512u) != 0u);
    }
    return sum * power;
}

// Returns the correlation rho at a squared distance; for the linear family, the product itself.
fn correlation(family: u32, sum: Real) -> Real {
    switch (family) {
        case 0u: {
            return exp_negative(Real(0.5) * sum);
        }
        case 1u: {
            return exp_negative(sqrt(sum));
        }
        case 2u: {
            let z = sqrt(Real(3.0) * sum);
            return (Real(1.0) + z) * exp_negative(z);
        }
        case 3u: {
            let z = sqrt(Real(5.0) * sum);
            return (Real(1.0) + z + Real(0.3333333333333333) * (z * z)) * exp_negative(z);
        }
        default: {
            return sum;
        }
    }
}

// Returns k(z_a, z_b) from the coordinates of a work.
fn kernel_value(work: Work, own: Numbers, a: u32, b: u32) -> Real {
    var sum = Real(0.0);
    for (var axis = 0u; axis < work.dimension; axis++) {
        let at = work.coords_at + axis * shape.stride;
        let za = source[at + a];
        let zb = source[at + b];
        if (work.family == 4u) {
            sum += za * zb;
        } else {
            sum += (za - zb) * (za - zb);
        }
    }
    let shared_part = own.kernel_scale * correlation(work.family, sum) + own.kernel_offset;
    if (a == b) {
        return shared_part + own.kernel_row_term;
    }
    return shared_part;
}
