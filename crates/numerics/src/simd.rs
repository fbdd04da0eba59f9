//! Defines the macro for what runs inside a SIMD dispatch.

/// Defines a function that runs inside a SIMD dispatch.
///
/// A dispatch compiles its body once for each width of vector units, and only code that is inlined into it is widened: a plain
/// closure need not be. Generic parameters stand in brackets behind the name. With `where simd: S`, the body is given the
/// instructions of the processor, of type `S`.
///
/// ```
/// use privateer_numerics::vectorised;
///
/// vectorised! {
///     /// Multiplies values; returns their number.
///     fn scale(factor: f64, values: &mut [f64]) -> usize {
///         values.iter_mut().for_each(|x| *x *= factor);
///         values.len()
///     }
/// }
///
/// vectorised! {
///     /// Adds up the whole vectors of each list.
///     fn sums[const N: usize](lists: [&[f64]; N]) -> [f64; N] where simd: S {
///         lists.map(|list| {
///             let vectors = S::as_simd_f64s(list).0.iter();
///             simd.reduce_sum_f64s(vectors.fold(simd.splat_f64s(0.0), |sum, x| simd.add_f64s(sum, *x)))
///         })
///     }
/// }
///
/// let mut values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// assert_eq!((scale(2.0, &mut values), sums([&values])), (8, [72.0]));
/// ```
#[macro_export]
macro_rules! vectorised {
    (
        $(#[$attribute:meta])* $visibility:vis fn $name:ident $([$($generics:tt)*])? ($($argument:ident: $type:ty),* $(,)?)
        $(where $simd:ident: $lanes:ident)? $body:block
    ) => {
        $crate::vectorised! {
            $(#[$attribute])* $visibility fn $name $([$($generics)*])? ($($argument: $type),*) -> ()
            $(where $simd: $lanes)? $body
        }
    };
    (
        $(#[$attribute:meta])* $visibility:vis fn $name:ident $([$($generics:tt)*])? ($($argument:ident: $type:ty),* $(,)?)
        -> $output:ty $body:block
    ) => {
        $crate::vectorised! {
            $(#[$attribute])* $visibility fn $name $([$($generics)*])? ($($argument: $type),*) -> $output where _simd: AnySimd $body
        }
    };
    (
        $(#[$attribute:meta])* $visibility:vis fn $name:ident $([$($generics:tt)*])? ($($argument:ident: $type:ty),* $(,)?)
        -> $output:ty where $simd:ident: $lanes:ident $body:block
    ) => {
        $(#[$attribute])*
        $visibility fn $name<$($($generics)*)?>($($argument: $type),*) -> $output {
            struct Frame<T>(T);
            impl<$($($generics)*)?> $crate::pulp::WithSimd for Frame<($($type,)*)> {
                type Output = $output;

                #[inline(always)]
                fn with_simd<$lanes: $crate::pulp::Simd>(self, $simd: $lanes) -> $output {
                    let ($($argument,)*) = self.0;
                    $body
                }
            }
            $crate::pulp::Arch::new().dispatch(Frame(($($argument,)*)))
        }
    };
}
