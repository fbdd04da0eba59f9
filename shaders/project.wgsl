// p = row · h for the work that has a new row.

// Coefficients of 128 columns for eight rows: two vectors a column.
var<workgroup> eight_rows: array<vec4<Real>, 256>;

// Coefficients and slots of 256 columns for one row.
var<workgroup> one_row: array<Real, 256>;
var<workgroup> one_slots: array<u32, 256>;

// Coefficient k of a row in the list of projected work; 0 beyond the end of either.
fn listed_coefficient(place: u32, k: u32) -> Real {
    let w = indices[indices[0] + place];
    var value = Real(0.0);
    if (w != NONE) {
        if (k < works[w].row_len) {
            value = coefficients[works[w].row_at + k];
        }
    }
    return value;
}

fn write_listed(place: u32, x: u32, p: Real) {
    let w = indices[indices[0] + place];
    if (w != NONE) {
        planes[plane(works[w].lane, P) + x] = p;
    }
}

// All columns of the table. Workgroup: 256 points x 8 rows; each value of the table is read once for the eight.
@compute @workgroup_size(256)
fn shared_columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * TILE + thread;
    let first = group.y * 8u;
    var low = vec4<Real>();
    var high = vec4<Real>();
    for (var block = 0u; block < shape.n_columns; block += 128u) {
        let staged = first + (thread & 1u) * 4u;
        let column = block + (thread >> 1u);
        eight_rows[thread] = vec4<Real>(
            listed_coefficient(staged, column),
            listed_coefficient(staged + 1u, column),
            listed_coefficient(staged + 2u, column),
            listed_coefficient(staged + 3u, column),
        );
        workgroupBarrier();
        let end = min(128u, shape.n_columns - block);
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

// Puts the next 256 coefficients and slots of a row where all threads read them.
fn stage_row(work: Work, block: u32, thread: u32) {
    if (block + thread < work.row_len) {
        one_row[thread] = coefficients[work.row_at + block + thread];
        one_slots[thread] = indices[work.slots_at + block + thread];
    }
}

// Columns of the table by a list of slots. Workgroup: 256 points x 1 row.
@compute @workgroup_size(256)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = group.x * TILE + thread;
    let work = works[indices[indices[0] + group.y]];
    var sum = Real(0.0);
    for (var block = 0u; block < work.row_len; block += 256u) {
        stage_row(work, block, thread);
        workgroupBarrier();
        let end = min(256u, work.row_len - block);
        for (var k = 0u; k < end; k++) {
            sum += one_row[k] * source[one_slots[k] * shape.chunk_len + at];
        }
        workgroupBarrier();
    }
    planes[plane(work.lane, P) + shape.chunk_first + at] = sum;
}

// Columns evaluated from coordinates. Workgroup: 256 points x 1 row.
@compute @workgroup_size(256)
fn evaluate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * TILE + thread;
    let w = indices[indices[0] + group.y];
    let work = works[w];
    let lane = numbers[w];
    var sum = Real(0.0);
    for (var block = 0u; block < work.row_len; block += 256u) {
        stage_row(work, block, thread);
        workgroupBarrier();
        let end = min(256u, work.row_len - block);
        for (var k = 0u; k < end; k++) {
            sum += one_row[k] * kernel_value(work, lane, one_slots[k], x);
        }
        workgroupBarrier();
    }
    planes[plane(work.lane, P) + x] = sum;
}
