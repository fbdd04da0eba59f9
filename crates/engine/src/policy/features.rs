//! Registers the feature maps that policies use.

use super::{FeaturesPlan, KnownInputs, Problem, SharedInputs};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::{FactValue, Facts};
use privateer_config::memory::allow;
use privateer_gp::Points;
use privateer_gp::features::{exact, nystrom, quadrature_fourier, random_fourier};
use privateer_gp::score::{AxisFeatures, FeatureTable};
use privateer_numerics::rng::Purpose;
use std::sync::Arc;

impl FeaturesPlan for exact::Exact {
    fn build(&self, problem: &Problem) -> Result<FeatureTable, Error> {
        let gram = problem.tabulated()?.gram;
        let bytes_per_feature = 8.0 * problem.n_points() as f64;
        let most = (problem.memory_bytes / bytes_per_feature).clamp(1.0, self.max_features as f64) as usize;
        exact::exact(gram.as_ref(), self.tolerance, most)
    }

    fn at(&self, problem: &Problem, points: &Points) -> Result<Option<FeatureTable>, Error> {
        let SharedInputs { gram, points: Some(domain), kernel: Some(kernel) } = problem.shared()? else { return Ok(None) };
        exact::exact_at(gram.as_ref(), *self, domain, kernel.as_ref(), points).map(Some)
    }
}

impl FeaturesPlan for nystrom::FixedDictionary {
    fn build(&self, problem: &Problem) -> Result<FeatureTable, Error> {
        let gram = problem.shared()?.gram.as_ref();
        let dictionary = self.resolve(gram)?;
        let needs = 16.0 * dictionary.len() as f64 * problem.n_points() as f64;
        allow(
            problem.memory_bytes,
            &format!("Nystrom features of {} points over {}", problem.n_points(), dictionary.len()),
            needs,
            "use a smaller dictionary or fewer points",
        )?;
        nystrom::nystrom(gram, &dictionary)
    }

    fn at(&self, problem: &Problem, points: &Points) -> Result<Option<FeatureTable>, Error> {
        let SharedInputs { gram, points: Some(domain), kernel: Some(kernel) } = problem.shared()? else { return Ok(None) };
        let dictionary = self.resolve(gram.as_ref())?;
        nystrom::nystrom_at(gram.as_ref(), &dictionary, domain, kernel.as_ref(), points).map(Some)
    }
}

impl FeaturesPlan for random_fourier::RandomFourier {
    fn build(&self, problem: &Problem) -> Result<FeatureTable, Error> {
        let refuse = |why: &str| {
            Diagnostic::new(format!("random Fourier features need {why}"))
                .hint("use `features = \"exact\"`, or no features")
                .error()
        };
        let SharedInputs { points: Some(points), kernel: Some(kernel), .. } = problem.tabulated()? else {
            return Err(refuse("points with coordinates and a kernel between them"));
        };
        let needs = 16.0 * self.frequencies as f64 * problem.n_points() as f64;
        allow(
            problem.memory_bytes,
            &format!("{} features of {} points", 2 * self.frequencies, problem.n_points()),
            needs,
            "lower `features` or the domain's points",
        )?;
        let mut stream = problem.streams.shared(Purpose::Features);
        let (Some(variance), Some(frequencies)) = (
            kernel.variance(),
            random_fourier::draw_frequencies(kernel.as_ref(), points.dimension(), self.frequencies, &mut stream),
        ) else {
            return Err(refuse("a stationary kernel with a spectral density"));
        };
        Ok(random_fourier::random_fourier(&points, &frequencies, variance, Some(kernel.as_ref())))
    }

    /// Extends the map beyond the domain: frequencies depend only on the kernel and the stream.
    fn at(&self, problem: &Problem, points: &Points) -> Result<Option<FeatureTable>, Error> {
        let inputs = KnownInputs::Shared(SharedInputs { points: Some(points.clone()), ..problem.shared()?.clone() });
        self.build(&Problem { inputs, table_points: usize::MAX, ..problem.clone() }).map(Some)
    }
}

/// Builds the map of these features over the bounding box of the problem's points.
pub fn quadrature_map(
    plan: quadrature_fourier::QuadratureFourier,
    problem: &Problem,
) -> Result<quadrature_fourier::QuadratureMap, Error> {
    if let KnownInputs::Product(product) = &problem.inputs {
        return quadrature_fourier::QuadratureMap::new(product.kernel().as_ref(), &product.extents(), plan);
    }
    let SharedInputs { points: Some(points), kernel: Some(kernel), .. } = problem.shared()? else {
        return Diagnostic::new("quadrature Fourier features need points with coordinates and a kernel between them")
            .hint("use `features = \"exact\"`, or no features")
            .refuse();
    };
    quadrature_fourier::QuadratureMap::new(kernel.as_ref(), &quadrature_fourier::extents(points), plan)
}

impl FeaturesPlan for quadrature_fourier::QuadratureFourier {
    fn build(&self, problem: &Problem) -> Result<FeatureTable, Error> {
        let map = quadrature_map(*self, problem)?;
        if let KnownInputs::Product(product) = &problem.inputs {
            return match map.product_table(product) {
                Some((table, _)) => Ok(table),
                None => Diagnostic::new("a product of axes needs a kernel that is a sum over single coordinates")
                    .hint("use `kernel = { kind = \"additive\", part = { … } }` with `group_size = 1`")
                    .refuse(),
            };
        }
        let SharedInputs { points: Some(points), kernel: Some(kernel), .. } = problem.tabulated()? else {
            return Diagnostic::new("quadrature Fourier features need points with coordinates").refuse();
        };
        allow(
            problem.memory_bytes,
            &format!("{} features of {} points", map.n_features(), problem.n_points()),
            8.0 * map.n_features() as f64 * problem.n_points() as f64,
            "use fewer `nodes`, an `additive` kernel, `features = \"nystrom\"` or fewer points",
        )?;
        Ok(map.table(&points, Some(kernel.as_ref())))
    }

    /// Uses the map over the box of the domain; outside the box the stated error does not hold.
    fn at(&self, problem: &Problem, points: &Points) -> Result<Option<FeatureTable>, Error> {
        Ok(Some(quadrature_map(*self, problem)?.table(points, None)))
    }

    fn axes(&self, problem: &Problem) -> Option<Arc<[AxisFeatures]>> {
        let KnownInputs::Product(product) = &problem.inputs else { return None };
        quadrature_map(*self, problem).ok()?.product_table(product).map(|(_, axes)| axes.into())
    }

    fn facts(&self, problem: &Problem, table: &FeatureTable) -> Facts {
        let mut facts = Facts::from([
            ("features", table.n_features.into()),
            ("kernel error of the features, measured over the domain's box", table.kernel_error.into()),
        ]);
        if let Ok(map) = quadrature_map(*self, problem) {
            let bound = map.accuracy.bound.map_or_else(|| "none stated for this kernel".into(), FactValue::from);
            facts.push("bound of Theorem 2 [Dubey2021] on it", bound);
            if map.accuracy.modified {
                facts.push("kernel of the features", "Matern's modified form, a product over coordinates");
            }
        }
        facts
    }
}
