// Computes sums, differences, products, quotients, roots and integers of pairs of numbers, a dot product and a difference of
// nearly equal numbers, to test a device's arithmetic in
// its type. Values come from a buffer, because constants would be folded before they reach the device.

@compute @workgroup_size(THREADS)
fn arithmetic(@builtin(local_invocation_index) thread: u32) {
    for (var pair = thread; pair < shape.n_columns; pair += THREADS) {
        let a = source[2u * pair];
        let b = source[2u * pair + 1u];
        table[10u * pair] = Out(a + b);
        table[10u * pair + 1u] = Out(a - b);
        table[10u * pair + 2u] = Out(a * b);
        table[10u * pair + 3u] = Out(a / b);
        table[10u * pair + 4u] = Out(sqrt(abs(a)));
        table[10u * pair + 5u] = Out(floor(a));
        table[10u * pair + 6u] = Out(Real(i32(b)));
        table[10u * pair + 7u] = Out(exp_negative(abs(b)));
        // The product of all first with all second numbers, from this pair on.
        var sum = Real(0);
        for (var i = 0u; i < shape.n_columns; i++) {
            let other = (pair + i) % shape.n_columns;
            sum += source[2u * other] * source[2u * other + 1u];
        }
        table[10u * pair + 8u] = Out(sum);
        // All but the last digits cancel.
        table[10u * pair + 9u] = Out((a * a + b) - a * a);
    }
}
