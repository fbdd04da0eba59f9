// Computes p = row · h for works with a new row, and mean = weights · h for works with new weights. An entry of the list is
// four times a work's index plus its kind: over shared columns the row or the weights, over a slot's own columns also both.

// Coefficients of STAGED columns for eight rows: two vectors per column.
const STAGED: u32 = THREADS / 2u;
var<workgroup> eight_rows: array<vec4<Real>, THREADS>;

// Coefficients of a row and of weights, and column indices, of THREADS columns.
var<workgroup> row_and_weights: array<vec2<Real>, THREADS>;
var<workgroup> own_slots: array<u32, THREADS>;

const ROW: u32 = 1u;
const WEIGHTS: u32 = 2u;

// Returns coefficient k of an entry of the list; 0 beyond the end of the list or of the row.
fn listed_coefficient(place: u32, k: u32) -> Real {
    let entry = indices[indices[0] + place];
    var value = Real(0.0);
    if (entry != NONE) {
        let work = works[entry >> 2u];
        if (k < work.row_len) {
            value = coefficients[select(work.row_at, work.weights_at, (entry & WEIGHTS) != 0u) + k];
        }
    }
    return value;
}

fn write_listed(place: u32, x: u32, value: Real) {
    let entry = indices[indices[0] + place];
    if (entry != NONE) {
        planes[plane(works[entry >> 2u].slot, select(P, MEAN, (entry & WEIGHTS) != 0u)) + x] = value;
    }
}

// Entry point: all columns of the table. Workgroup: THREADS points x 8 rows; each value of the table is read once for the
// eight.
@compute @workgroup_size(THREADS)
fn shared_columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * THREADS + thread;
    let first = group.y * 8u;
    var low = vec4<Real>();
    var high = vec4<Real>();
    for (var block = 0u; block < shape.n_columns; block += STAGED) {
        let staged = first + (thread & 1u) * 4u;
        let column = block + (thread >> 1u);
        eight_rows[thread] = vec4<Real>(
            listed_coefficient(staged, column),
            listed_coefficient(staged + 1u, column),
            listed_coefficient(staged + 2u, column),
            listed_coefficient(staged + 3u, column),
        );
        workgroupBarrier();
        let end = min(STAGED, shape.n_columns - block);
        for (var k = 0u; k < end; k++) {
            let h = source[(block + k) * shape.chunk_len + at];
            low += eight_rows[2u * k] * h;
            high += eight_rows[2u * k + 1u] * h;
        }
        workgroupBarrier();
    }
    let x = shape.chunk_first + at;
    write_listed(first, x, low.x);
    write_listed(first + 1u, x, low.y);
    write_listed(first + 2u, x, low.z);
    write_listed(first + 3u, x, low.w);
    write_listed(first + 4u, x, high.x);
    write_listed(first + 5u, x, high.y);
    write_listed(first + 6u, x, high.z);
    write_listed(first + 7u, x, high.w);
}

// Returns a coefficient of a row or of weights; 0 if the entry does not include it.
fn meant(entry: u32, kind: u32, at: u32) -> Real {
    var value = Real(0.0);
    if ((entry & kind) != 0u) {
        value = coefficients[at];
    }
    return value;
}

// Loads the next THREADS coefficients and column indices of an entry into shared memory.
fn stage(entry: u32, work: Work, block: u32, thread: u32) {
    let k = block + thread;
    if (k < work.row_len) {
        row_and_weights[thread] = vec2<Real>(meant(entry, ROW, work.row_at + k), meant(entry, WEIGHTS, work.weights_at + k));
        own_slots[thread] = indices[work.slots_at + k];
    }
}

// Writes the results of an entry.
fn write_sums(entry: u32, work: Work, x: u32, sums: vec2<Real>) {
    if ((entry & ROW) != 0u) {
        planes[plane(work.slot, P) + x] = sums.x;
    }
    if ((entry & WEIGHTS) != 0u) {
        planes[plane(work.slot, MEAN) + x] = sums.y;
    }
}

// Entry point: columns of the table by a list of column indices. Workgroup: THREADS points x 1 work.
@compute @workgroup_size(THREADS)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * THREADS + thread;
    let entry = indices[indices[0] + group.y];
    let work = works[entry >> 2u];
    var sums = vec2<Real>();
    for (var block = 0u; block < work.row_len; block += THREADS) {
        stage(entry, work, block, thread);
        workgroupBarrier();
        let end = min(THREADS, work.row_len - block);
        for (var k = 0u; k < end; k++) {
            sums += row_and_weights[k] * source[own_slots[k] * shape.chunk_len + at];
        }
        workgroupBarrier();
    }
    write_sums(entry, work, shape.chunk_first + at, sums);
}

// Entry point: columns evaluated from coordinates. Workgroup: THREADS points x 1 work.
@compute @workgroup_size(THREADS)
fn evaluate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * THREADS + thread;
    let entry = indices[indices[0] + group.y];
    let work = works[entry >> 2u];
    let own = numbers[entry >> 2u];
    var sums = vec2<Real>();
    for (var block = 0u; block < work.row_len; block += THREADS) {
        stage(entry, work, block, thread);
        workgroupBarrier();
        let end = min(THREADS, work.row_len - block);
        for (var k = 0u; k < end; k++) {
            sums += row_and_weights[k] * kernel_value(work, own, own_slots[k], x);
        }
        workgroupBarrier();
    }
    write_sums(entry, work, x, sums);
}
