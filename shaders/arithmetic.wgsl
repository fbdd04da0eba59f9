// Computes sums, differences, products, quotients, roots and integers of pairs of numbers, to test a device's arithmetic in
// its type. Values come from a buffer, because constants would be folded before they reach the device.

@compute @workgroup_size(THREADS)
fn arithmetic(@builtin(local_invocation_index) thread: u32) {
    for (var pair = thread; pair < shape.n_columns; pair += THREADS) {
        let a = source[2u * pair];
        let b = source[2u * pair + 1u];
        table[8u * pair] = Out(a + b);
        table[8u * pair + 1u] = Out(a - b);
        table[8u * pair + 2u] = Out(a * b);
        table[8u * pair + 3u] = Out(a / b);
        table[8u * pair + 4u] = Out(sqrt(abs(a)));
        table[8u * pair + 5u] = Out(floor(a));
        table[8u * pair + 6u] = Out(Real(i32(b)));
        table[8u * pair + 7u] = Out(exp_negative(abs(b)));
    }
}
