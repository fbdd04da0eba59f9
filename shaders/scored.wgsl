// Shared by the passes that reduce.

// Returns the larger of each value, and the sum of both counts.
fn both(a: Scored, b: Scored) -> Scored {
    return Scored(
        larger(a.lower, b.lower),
        larger(a.upper, b.upper),
        larger(a.variance, b.variance),
        larger(a.mean, b.mean),
        a.counts + b.counts,
    );
}

// Writes the maxima and the count of a tile.
fn write_partials(w: u32, tile: u32, thread: u32) {
    if (thread == 0u) {
        let at = w * 4u * shape.n_tiles + tile;
        partials[at] = most_lower[0];
        partials[at + shape.n_tiles] = most_upper[0];
        partials[at + 2u * shape.n_tiles] = most_variance[0];
        partials[at + 3u * shape.n_tiles] = most_mean[0];
        counts[w * shape.n_tiles + tile] = n_counted[0];
    }
}
