// p = row · h for the work that has a new row, mean = weights · h for the work that has new weights. Entries of the list are
// twice a work's number, and one more where it is the weights that are meant.

// Coefficients of STAGED columns for eight rows: two vectors a column.
const STAGED: u32 = THREADS / 2u;
var<workgroup> eight_rows: array<vec4<Real>, THREADS>;

// Coefficients and slots of THREADS columns for one row.
var<workgroup> one_row: array<Real, THREADS>;
var<workgroup> one_slots: array<u32, THREADS>;

// Where the coefficients of an entry start.
fn coefficients_of(entry: u32, work: Work) -> u32 {
    return select(work.row_at, work.weights_at, (entry & 1u) != 0u);
}

// Where the plane that an entry is written to starts.
fn plane_of(entry: u32, work: Work) -> u32 {
    return plane(work.lane, select(P, MEAN, (entry & 1u) != 0u));
}

// Coefficient k of an entry of the list; 0 beyond the end of either.
fn listed_coefficient(place: u32, k: u32) -> Real {
    let entry = indices[indices[0] + place];
    var value = Real(0.0);
    if (entry != NONE) {
        let work = works[entry >> 1u];
        if (k < work.row_len) {
            value = coefficients[coefficients_of(entry, work) + k];
        }
    }
    return value;
}

fn write_listed(place: u32, x: u32, value: Real) {
    let entry = indices[indices[0] + place];
    if (entry != NONE) {
        planes[plane_of(entry, works[entry >> 1u]) + x] = value;
    }
}

// All columns of the table. Workgroup: THREADS points x 8 rows; each value of the table is read once for the eight.
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

// Puts the next THREADS coefficients and slots of a row where all threads read them.
fn stage_row(entry: u32, work: Work, block: u32, thread: u32) {
    if (block + thread < work.row_len) {
        one_row[thread] = coefficients[coefficients_of(entry, work) + block + thread];
        one_slots[thread] = indices[work.slots_at + block + thread];
    }
}

// Columns of the table by a list of slots. Workgroup: THREADS points x 1 row.
@compute @workgroup_size(THREADS)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * THREADS + thread;
    let entry = indices[indices[0] + group.y];
    let work = works[entry >> 1u];
    var sum = Real(0.0);
    for (var block = 0u; block < work.row_len; block += THREADS) {
        stage_row(entry, work, block, thread);
        workgroupBarrier();
        let end = min(THREADS, work.row_len - block);
        for (var k = 0u; k < end; k++) {
            sum += one_row[k] * source[one_slots[k] * shape.chunk_len + at];
        }
        workgroupBarrier();
    }
    planes[plane_of(entry, work) + shape.chunk_first + at] = sum;
}

// Columns evaluated from coordinates. Workgroup: THREADS points x 1 row.
@compute @workgroup_size(THREADS)
fn evaluate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * THREADS + thread;
    let entry = indices[indices[0] + group.y];
    let work = works[entry >> 1u];
    let lane = numbers[entry >> 1u];
    var sum = Real(0.0);
    for (var block = 0u; block < work.row_len; block += THREADS) {
        stage_row(entry, work, block, thread);
        workgroupBarrier();
        let end = min(THREADS, work.row_len - block);
        for (var k = 0u; k < end; k++) {
            sum += one_row[k] * kernel_value(work, lane, one_slots[k], x);
        }
        workgroupBarrier();
    }
    planes[plane_of(entry, work) + x] = sum;
}
