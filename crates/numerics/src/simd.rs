//! Defines the macro for what runs inside a SIMD dispatch.

/// Defines what a frame of arguments computes inside a SIMD dispatch.
///
/// A dispatch compiles its body once for each width of vector units, and only code that is inlined into it is widened: a plain
/// closure need not be. The frame is a structure with the arguments of one call.
///
/// ```
/// use privateer_numerics::{linalg::wide, vectorised};
///
/// struct Scale<'a> {
///     factor: f64,
///     out: &'a mut [f64],
/// }
///
/// vectorised! {
///     fn call(self: Scale<'_>) -> usize {
///         self.out.iter_mut().for_each(|x| *x *= self.factor);
///         self.out.len()
///     }
/// }
///
/// let mut values = [1.0, 2.0, 3.0];
/// assert_eq!((wide(Scale { factor: 2.0, out: &mut values }), values), (3, [2.0, 4.0, 6.0]));
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
}
