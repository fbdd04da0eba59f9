//! Defines the macro for what runs inside a SIMD dispatch.

/// Defines a function that runs inside a SIMD dispatch.
///
/// A dispatch compiles its body once for each width of vector units, and only code that is inlined into it is widened: a plain
/// closure need not be. With `fn call(self: Frame)`, it implements the call of a structure that holds the arguments.
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
/// let mut values = [1.0, 2.0, 3.0];
/// assert_eq!((scale(2.0, &mut values), values), (3, [2.0, 4.0, 6.0]));
/// ```
#[macro_export]
macro_rules! vectorised {
    (fn call($self:ident: $frame:ty) $body:block) => {
        $crate::vectorised! { fn call($self: $frame) -> () $body }
    };
    (fn call($self:ident: $frame:ty) -> $output:ty $body:block) => {
        impl $crate::NullaryFnOnce for $frame {
            type Output = $output;

            #[inline(always)]
            fn call($self) -> $output $body
        }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $crate::vectorised! { $(#[$attribute])* $visibility fn $name($($argument: $type),*) -> () $body }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $output:ty $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) -> $output {
            struct Frame<T>(T);
            $crate::vectorised! {
                fn call(self: Frame<($($type,)*)>) -> $output {
                    let ($($argument,)*) = self.0;
                    $body
                }
            }
            $crate::linalg::wide(Frame(($($argument,)*)))
        }
    };
}
