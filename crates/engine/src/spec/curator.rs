//! Reads the `[curator]` table: which mechanism releases the inputs, at what budget.
//!
//! Without the table, policies see the inputs.

use super::places::KeyPlaces;
use super::privacy::{RequestDocs, request};
use crate::registry::CURATORS;
use privateer_config::error::Error;
use privateer_config::params::{Args, Table};
use privateer_privacy::curator::{Curator, CuratorEntry, InputsNeed, Scaled};
use privateer_privacy::{Guarantee, Protects, Refusal, Request, automatic};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct CuratorPlan {
    entry: &'static CuratorEntry,
    request: Request,
    need: InputsNeed,
    norm: Option<f64>,
    bound: Option<f64>,
    places: KeyPlaces,
}

impl CuratorPlan {
    /// Returns the largest distance between neighbouring rows, in units of the inputs.
    pub fn moves(&self) -> f64 {
        let scale = self.norm.zip(self.bound).map_or(1.0, |(norm, bound)| norm / bound);
        self.need.radius.unwrap_or(1.0) / scale
    }

    /// Reads the table's keys; returns `None` for the mechanism `none`, or after a mistake.
    pub fn parse(args: &Args<'_>, table: &Table) -> Option<Self> {
        let mut words = vec!["auto", "none"];
        words.extend(CURATORS.iter().map(|entry| entry.name));
        let mut request = request(
            args,
            &words,
            "auto",
            &RequestDocs {
                mechanism: "mechanism that releases inputs; `auto`: the calibration picks; `none`: inputs are released unchanged",
                calibration: "the paper to the letter, the least repair, or what has a guarantee",
                epsilon: ["privacy loss of one row of the inputs", "must be given"],
                delta: ["failure probability of the claim", "must be given"],
            },
        );
        let radius = args
            .number("radius", "neighbours differ in one row, by at most this (L2, after any scaling by `norm`; ledgers state it in units of the inputs)")
            .above(0.0)
            .optional("must be given for `input-noise`; 1 for the projections");
        let columns =
            args.count("columns", "r: coordinates of a released row").between(1, 10_000).optional("as many as the inputs have");
        let doc = "scale the centred inputs so that this stands for `bound` before the mechanism; `radius` counts in these units";
        let norm = args.number("norm", doc).above(0.0).optional("no scaling");
        let doc = "public bound on the norm of a centred row, in units of the inputs; longer rows are moved to it";
        let bound = args.number("bound", doc).above(0.0).optional("with `norm`, the data's own largest, which is not private");
        args.finish();
        if request.mechanism == "none" {
            return None;
        }
        let name = automatic(request.mechanism, Protects::Inputs, request.calibration);
        request.mechanism = name;
        let entry = CURATORS.iter().find(|entry| entry.name == name)?;
        for (key, expected) in [
            ("epsilon", "a finite number > 0, the privacy loss of one row of the inputs"),
            ("delta", "a number > 0 and < 1, at most one over the number of rows"),
        ] {
            if !args.has(key) {
                args.missing(key, expected);
            }
        }
        // A number out of range was already reported.
        if request.budget.epsilon.is_none() || request.budget.delta.is_none() {
            return None;
        }
        let places = KeyPlaces::of(args, table);
        let need = InputsNeed { radius, columns: columns.map(|r| r as usize) };
        Some(Self { entry, request, need, norm, bound, places })
    }

    pub fn curator(&self) -> Result<Arc<dyn Curator>, Error> {
        let made = (self.entry.build)(&self.request, self.need).and_then(|inner| {
            if self.norm.is_none() && self.bound.is_none() {
                return Ok(inner);
            }
            let promises = inner.ledger(2, 1).guarantee == Guarantee::Holds;
            let scaled: Arc<dyn Curator> = Arc::new(Scaled::new(inner, self.norm, self.bound, promises)?);
            Ok(scaled)
        });
        made.map_err(|refusal| self.place(refusal))
    }

    pub fn place(&self, refusal: Refusal) -> Error {
        self.places.place(refusal)
    }
}
