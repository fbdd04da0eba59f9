// Reduces numbers of a buffer, as many a workgroup as it has threads: whether a device reduces as it should. Of a workgroup
// come its largest number, that of the negated, of the squares and of the magnitudes, and how many numbers are positive.

@compute @workgroup_size(THREADS)
fn reduction(place: Place) {
    let value = source[place.group.x * THREADS + place.thread];
    reduce(place, Scored(value, -value, value * value, abs(value), select(0u, 1u, value > Real(0.0))));
    if (place.thread == 0u) {
        let at = 5u * place.group.x;
        table[at] = Out(most_lower[0]);
        table[at + 1u] = Out(most_upper[0]);
        table[at + 2u] = Out(most_variance[0]);
        table[at + 3u] = Out(most_mean[0]);
        table[at + 4u] = Out(Real(n_counted[0]));
    }
}
