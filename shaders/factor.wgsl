// Computes mean and posterior variance of every point from a lower triangular factor R and weights: |R h|² and weights · h.
// Workgroup: BLOCK points x 1 slot; SIDE x SIDE threads, each with 4 rows x 4 points; columns in steps of SIDE.

const BLOCK: u32 = 4u * SIDE;

// SIDE columns x BLOCK points and SIDE columns x BLOCK rows, as vectors of four.
var<workgroup> four_points: array<vec4<Real>, THREADS>;
var<workgroup> four_rows: array<vec4<Real>, THREADS>;

// Returns value k of a row of the factor; 0 beyond the triangle.
fn factor_value(work: Work, row: u32, k: u32) -> Real {
    var value = Real(0.0);
    if (row < work.factor_len && k <= row) {
        value = coefficients[work.factor_at + row * (row + 1u) / 2u + k];
    }
    return value;
}

// Loads the values of four rows at one column, for the products of this step.
fn stage_rows(work: Work, first_row: u32, first_column: u32, thread: u32) {
    let row = first_row + 4u * (thread / SIDE);
    let k = first_column + thread % SIDE;
    four_rows[(thread % SIDE) * SIDE + thread / SIDE] = vec4<Real>(
        factor_value(work, row, k),
        factor_value(work, row + 1u, k),
        factor_value(work, row + 2u, k),
        factor_value(work, row + 3u, k),
    );
}

// Sums of a thread for its four points: squares of its rows of R h, and the part of the mean from its columns.
struct Gathered {
    squares: vec4<Real>,
    mean: vec4<Real>,
}

// Four rows of products, each for a thread's four points.
struct Sums {
    row_0: vec4<Real>,
    row_1: vec4<Real>,
    row_2: vec4<Real>,
    row_3: vec4<Real>,
}

// Adds the products of this step's columns.
fn multiplied(thread: u32, so_far: Sums) -> Sums {
    var sums = so_far;
    for (var step = 0u; step < SIDE; step++) {
        let h = four_points[step * SIDE + thread % SIDE];
        let r = four_rows[step * SIDE + thread / SIDE];
        sums.row_0 += h * r.x;
        sums.row_1 += h * r.y;
        sums.row_2 += h * r.z;
        sums.row_3 += h * r.w;
    }
    return sums;
}

// Returns the sum of squares of four rows.
fn squared(sums: Sums) -> vec4<Real> {
    return sums.row_0 * sums.row_0 + sums.row_1 * sums.row_1 + sums.row_2 * sums.row_2 + sums.row_3 * sums.row_3;
}

// Returns the weight of a column; 0 beyond the basis. The weights follow the triangle.
fn weight(work: Work, k: u32) -> Real {
    var value = Real(0.0);
    if (k < work.factor_len) {
        value = coefficients[work.factor_at + work.factor_len * (work.factor_len + 1u) / 2u + k];
    }
    return value;
}

// Adds the sums of all threads of a point and writes the result.
fn finish(work: Work, thread: u32, mine: Gathered, first: u32) {
    four_points[thread] = mine.squares;
    four_rows[thread] = mine.mean;
    workgroupBarrier();
    let x = first + thread;
    if (thread < BLOCK && x < shape.n_points) {
        var square = Real(0.0);
        var mean = Real(0.0);
        for (var part = 0u; part < SIDE; part++) {
            square += four_points[part * SIDE + thread % SIDE][thread / SIDE];
            mean += four_rows[part * SIDE + thread % SIDE][thread / SIDE];
        }
        planes[plane(work.slot, MEAN) + x] = mean;
        let added = base[work.prior_at - shape.stride + x] + square;
        let removed = base[work.prior_at + x] - square;
        planes[plane(work.slot, VARIANCE) + x] = select(removed, added, work.start == START_ADDED);
    }
}

// Returns column k of the basis at a point of the bound table; 0 beyond the basis.
fn table_value(work: Work, k: u32, at: u32) -> Real {
    var value = Real(0.0);
    if (k < work.factor_len) {
        value = source[indices[work.slots_at + k] * shape.chunk_len + at];
    }
    return value;
}

// Entry point: basis columns from a table by a list of column indices.
@compute @workgroup_size(THREADS)
fn from_table(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let work = works[indices[indices[1] + group.y]];
    let n = work.factor_len;
    // A thread's four points are SIDE apart, so that adjacent threads read adjacent values.
    let at = group.x * BLOCK + thread % SIDE;
    let mine = thread / SIDE;
    var gathered = Gathered(vec4<Real>(), vec4<Real>());
    for (var rows = 0u; rows < n; rows += BLOCK) {
        var sums = Sums(vec4<Real>(), vec4<Real>(), vec4<Real>(), vec4<Real>());
        // Beyond these columns the rows of this step are zero.
        let end = min(rows + BLOCK, n);
        for (var columns = 0u; columns < end; columns += SIDE) {
            stage_rows(work, rows, columns, thread);
            let k = columns + mine;
            four_points[thread] = vec4<Real>(
                table_value(work, k, at),
                table_value(work, k, at + SIDE),
                table_value(work, k, at + 2u * SIDE),
                table_value(work, k, at + 3u * SIDE),
            );
            if (end == n) {
                // The last rows use every column exactly once.
                gathered.mean += four_points[thread] * weight(work, k);
            }
            workgroupBarrier();
            sums = multiplied(thread, sums);
            workgroupBarrier();
        }
        gathered.squares += squared(sums);
    }
    finish(work, thread, gathered, shape.chunk_first + group.x * BLOCK);
}

// Returns column k of the basis from coordinates; 0 beyond the basis.
fn evaluated_value(work: Work, own: Numbers, k: u32, x: u32) -> Real {
    var value = Real(0.0);
    if (k < work.factor_len) {
        value = kernel_value(work, own, indices[work.slots_at + k], x);
    }
    return value;
}

// Entry point: basis columns evaluated from coordinates.
@compute @workgroup_size(THREADS)
fn from_kernel(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let w = indices[indices[1] + group.y];
    let work = works[w];
    let own = numbers[w];
    let n = work.factor_len;
    let x = group.x * BLOCK + thread % SIDE;
    let mine = thread / SIDE;
    var gathered = Gathered(vec4<Real>(), vec4<Real>());
    for (var rows = 0u; rows < n; rows += BLOCK) {
        var sums = Sums(vec4<Real>(), vec4<Real>(), vec4<Real>(), vec4<Real>());
        let end = min(rows + BLOCK, n);
        for (var columns = 0u; columns < end; columns += SIDE) {
            stage_rows(work, rows, columns, thread);
            let k = columns + mine;
            four_points[thread] = vec4<Real>(
                evaluated_value(work, own, k, x),
                evaluated_value(work, own, k, x + SIDE),
                evaluated_value(work, own, k, x + 2u * SIDE),
                evaluated_value(work, own, k, x + 3u * SIDE),
            );
            if (end == n) {
                // The last rows use every column exactly once.
                gathered.mean += four_points[thread] * weight(work, k);
            }
            workgroupBarrier();
            sums = multiplied(thread, sums);
            workgroupBarrier();
        }
        gathered.squares += squared(sums);
    }
    finish(work, thread, gathered, group.x * BLOCK);
}
