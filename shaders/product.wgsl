// Computes a matrix product C = A B, to measure a device's peak rate: A by columns in `source`, B by rows in
// `coefficients`, C by rows in `table`; n_columns is the side, a multiple of a workgroup's side. Workgroup: 4 SIDE x 4 SIDE
// entries; SIDE x SIDE threads, each with 4 x 4; steps of SIDE.

var<workgroup> four_a: array<vec4<Real>, THREADS>;
var<workgroup> four_b: array<vec4<Real>, THREADS>;

// Writes four entries. A computed index would keep the sums in memory in place of registers: on a card with f64 at half the
// rate of f32, products then ran at a tenth of their rate.
fn write_four(at: u32, sums: vec4<Real>) {
    table[at] = Out(sums.x);
    table[at + 1u] = Out(sums.y);
    table[at + 2u] = Out(sums.z);
    table[at + 3u] = Out(sums.w);
}

@compute @workgroup_size(THREADS)
fn product(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let n = shape.n_columns;
    let row = (group.y * SIDE + thread / SIDE) * 4u;
    let column = (group.x * SIDE + thread % SIDE) * 4u;
    var row_0 = vec4<Real>();
    var row_1 = vec4<Real>();
    var row_2 = vec4<Real>();
    var row_3 = vec4<Real>();
    for (var step = 0u; step < n; step += SIDE) {
        let k = (step + thread / SIDE) * n;
        let a = k + (group.y * SIDE + thread % SIDE) * 4u;
        let b = k + column;
        four_a[thread] = vec4<Real>(source[a], source[a + 1u], source[a + 2u], source[a + 3u]);
        four_b[thread] = vec4<Real>(coefficients[b], coefficients[b + 1u], coefficients[b + 2u], coefficients[b + 3u]);
        workgroupBarrier();
        for (var i = 0u; i < SIDE; i++) {
            let x = four_a[i * SIDE + thread / SIDE];
            let y = four_b[i * SIDE + thread % SIDE];
            row_0 += x.x * y;
            row_1 += x.y * y;
            row_2 += x.z * y;
            row_3 += x.w * y;
        }
        workgroupBarrier();
    }
    let at = row * n + column;
    write_four(at, row_0);
    write_four(at + n, row_1);
    write_four(at + 2u * n, row_2);
    write_four(at + 3u * n, row_3);
}
