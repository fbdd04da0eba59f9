//! Tests that each formula's text computes the formula's number, and that its erratum is listed.

use super::{FORMULAS, Formula, Symbols};
use std::collections::BTreeSet;

/// Computes the text of a formula.
/// It knows numbers, symbols, `+ - * /` with `*` left out, `²`, `^(…)`, and named functions.
struct Reader<'a> {
    text: &'a str,
    value_of: &'a dyn Fn(&str) -> f64,
}

impl Reader<'_> {
    fn eat(&mut self, wanted: char) -> bool {
        self.text = self.text.trim_start();
        let rest = self.text.strip_prefix(wanted);
        rest.is_some_and(|rest| {
            self.text = rest;
            true
        })
    }

    fn sum(&mut self) -> f64 {
        let mut sum = self.product();
        loop {
            if self.eat('+') {
                sum += self.product();
            } else if self.eat('-') {
                sum -= self.product();
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut product = self.power();
        loop {
            if self.eat('/') {
                product /= self.power();
            } else if self.text.trim_start().starts_with(|next: char| next.is_alphanumeric() || next == '(') {
                product *= self.power();
            } else {
                return product;
            }
        }
    }

    fn power(&mut self) -> f64 {
        let base = self.atom();
        if self.eat('²') {
            return base * base;
        }
        if self.eat('^') { libm::pow(base, self.atom()) } else { base }
    }

    fn atom(&mut self) -> f64 {
        if self.eat('(') {
            let inside = self.sum();
            assert!(self.eat(')'), "a bracket is open before `{}`", self.text);
            return inside;
        }
        // `sigma_+` is a name; a plus elsewhere is a sum.
        let part = |at: usize, c: char| {
            c.is_alphanumeric() && c != '²' || c == '_' || c == '.' || c == '+' && self.text[..at].ends_with('_')
        };
        let end = self.text.char_indices().find(|&(at, c)| !part(at, c)).map_or(self.text.len(), |(at, _)| at);
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        let functions = ["sqrt", "ln", "log2", "ceil", "min"];
        if !functions.contains(&word) {
            return word.parse().unwrap_or_else(|_| if word == "e" { std::f64::consts::E } else { (self.value_of)(word) });
        }
        assert!(self.eat('('), "`{word}` needs a bracket");
        let mut of = self.sum();
        if self.eat(',') {
            of = of.min(self.sum());
        }
        assert!(self.eat(')'), "a bracket is open before `{}`", self.text);
        match word {
            "sqrt" => libm::sqrt(of),
            "ln" => libm::log(of),
            "log2" => libm::log2(of),
            "ceil" => libm::ceil(of),
            _ => of,
        }
    }
}

/// Returns the value that a text states, with its symbols' values from `value_of`.
fn read(text: &str, value_of: &dyn Fn(&str) -> f64) -> f64 {
    let (formula, definition) = match text.split_once(", l = ") {
        Some((formula, definition)) => (formula, Some(definition)),
        None => (text, None),
    };
    let value_of: &dyn Fn(&str) -> f64 = &|name| match definition {
        Some(definition) if name == "l" => read(definition, value_of),
        _ => value_of(name),
    };
    let mut reader = Reader { text: formula.split_once(" = ").map_or(formula, |(_, right)| right), value_of };
    let value = reader.sum();
    assert_eq!(reader.text, "", "all of `{text}` is read");
    value
}

const SYMBOLS: [&str; 25] = [
    "B", "R", "D", "L", "S", "T", "alpha", "beta", "d", "delta", "epsilon", "kappa", "Lambda", "m", "n", "q", "r", "rho", "s",
    "sigma", "sigma_+", "sigma_u", "t", "Upsilon", "zeta",
];

fn all() -> impl Iterator<Item = &'static Formula> {
    FORMULAS.into_iter().flatten()
}

#[test]
fn texts_compute_their_numbers() {
    for seed in [3, 7, 20] {
        // Whole numbers, as some are counts, and failure probabilities below one.
        let value = |name: &str| {
            let whole = 2.0 + (name.bytes().map(u64::from).sum::<u64>() * seed % 13) as f64;
            if ["delta", "zeta", "alpha"].contains(&name) { 1.0 / whole } else { whole }
        };
        for formula in all() {
            let found = (formula.at)(&Symbols(&SYMBOLS.map(|name| (name, value(name)))));
            let read = read(formula.text, &value);
            assert!((found - read).abs() <= 1e-12 * found.abs(), "{formula}: {found}, and its text says {read}");
        }
    }
    // A text that says something else is found.
    assert_eq!([3.0, 6.0].map(|x| read("y = 2 x²/3 + 1", &|_| x)), [7.0, 25.0]);
}

/// Checks that the errata of the table are rows of `docs/privacy.md`, which lists the formulas too.
#[test]
fn documents_list_formulas_and_errata() {
    let document = include_str!("../../../../docs/privacy.md");
    let mut seen = BTreeSet::new();
    for formula in all() {
        assert!(formula.erratum.is_empty() || document.contains(&format!("\n| {} |", formula.erratum)), "{formula}");
        let row = format!("| {}, {} | `{}` | {} |", formula.paper, formula.place, formula.text, formula.erratum);
        assert!(document.contains(&row), "docs/privacy.md lacks the row\n{row}");
        assert!(seen.insert((formula.paper, formula.place, formula.text)), "{formula} is listed once");
    }
}
