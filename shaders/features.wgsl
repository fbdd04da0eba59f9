// Writes Fourier features: a_i cos(w_i·x) for all i, then a_i sin(w_i·x). Real must be f64, because an angle in f32 loses
// digits. WGSL's own f64 sine and cosine are unreliable; these use arithmetic alone. Workgroup: THREADS points x 1
// frequency.

// pi/2 in three parts, the first two of 33 bits, so that their small multiples are exact.
const QUARTER_0: Real = 1.57079632673412561417e+00;
const QUARTER_1: Real = 6.07710050630396597660e-11;
const QUARTER_2: Real = 2.02226624879595063154e-21;

fn sin_polynomial(z: Real) -> Real {
    var sum = Real(1.58969099521155010221e-10);
    sum = sum * z + Real(-2.50507602534068634195e-08);
    sum = sum * z + Real(2.75573137070700676789e-06);
    sum = sum * z + Real(-1.98412698298579493134e-04);
    sum = sum * z + Real(8.33333333332248946124e-03);
    return sum * z + Real(-1.66666666666666324348e-01);
}

fn cos_polynomial(z: Real) -> Real {
    var sum = Real(-1.13596475577881948265e-11);
    sum = sum * z + Real(2.08757232129817482790e-09);
    sum = sum * z + Real(-2.75573143513906633035e-07);
    sum = sum * z + Real(2.48015872894767294178e-05);
    sum = sum * z + Real(-1.38888888888741095749e-03);
    return sum * z + Real(4.16666666666666019037e-02);
}

// Computes cos t and sin t: the angle reduced by quarter turns, then polynomials.
fn cos_sin(t: Real) -> vec2<Real> {
    let n = floor(t * Real(6.36619772367581382433e-01) + Real(0.5));
    let r = ((t - n * QUARTER_0) - n * QUARTER_1) - n * QUARTER_2;
    let z = r * r;
    let s = r + r * z * sin_polynomial(z);
    let c = Real(1.0) - (Real(0.5) * z - z * z * cos_polynomial(z));
    switch (u32(i32(n) & 3)) {
        case 0u: {
            return vec2<Real>(c, s);
        }
        case 1u: {
            return vec2<Real>(-s, c);
        }
        case 2u: {
            return vec2<Real>(-c, -s);
        }
        default: {
            return vec2<Real>(s, -c);
        }
    }
}

@compute @workgroup_size(THREADS)
fn features(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * THREADS + thread;
    let x = shape.chunk_first + at;
    let frequency = group.y;
    if (at < shape.chunk_len) {
        var value = vec2<Real>(Real(0.0), Real(0.0));
        if (x < shape.n_points) {
            var t = Real(0.0);
            for (var axis = 0u; axis < shape.dimension; axis++) {
                let w = coefficients[shape.n_columns + frequency * shape.dimension + axis];
                t += w * source[axis * shape.stride + x];
            }
            value = coefficients[frequency] * cos_sin(t);
        }
        table[frequency * shape.chunk_len + at] = Out(value.x);
        table[(shape.n_columns + frequency) * shape.chunk_len + at] = Out(value.y);
    }
}
