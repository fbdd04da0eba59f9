//! Tests that each formula's text computes the formula's number, and that its erratum is listed.

use super::formula::{FORMULAS, Formula, Symbols};
use std::collections::BTreeSet;

/// Computes the text of a formula: numbers, symbols, `+ - * /` with `*` left out, `²`, `^(…)`, and named functions.
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
        // `sigma_+` is a name; a plus elsewhere is none.
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

fn all() -> impl Iterator<Item = &'static Formula> {
    FORMULAS.into_iter().flatten()
}

#[test]
fn texts_compute_their_numbers() {
    // Counts are whole numbers; failure probabilities are below one.
    let values: [(&str, [f64; 2]); 25] = [
        ("B", [1.5, 0.3]),
        ("R", [0.7, 2.0]),
        ("D", [2.0, 3.5]),
        ("L", [1.3, 0.2]),
        ("S", [2.5, 7.0]),
        ("T", [1000.0, 17.0]),
        ("alpha", [0.05, 0.2]),
        ("beta", [0.8, 1.7]),
        ("d", [5.0, 12.0]),
        ("delta", [1e-3, 0.2]),
        ("epsilon", [0.5, 3.0]),
        ("kappa", [1.9, 4.0]),
        ("Lambda", [60.0, 9.0]),
        ("m", [36.0, 4.0]),
        ("n", [11.0, 900.0]),
        ("q", [3.0, 40.0]),
        ("r", [10.0, 3.0]),
        ("rho", [0.4, 1.1]),
        ("s", [0.6, 2.2]),
        ("sigma", [12.0, 0.9]),
        ("sigma_+", [5.0, 0.4]),
        ("sigma_u", [3.0, 8.0]),
        ("t", [9.0, 2.0]),
        ("Upsilon", [44.0, 7.0]),
        ("zeta", [0.1, 0.01]),
    ];
    for at in 0..2 {
        let symbols = values.map(|(name, values)| (name, values[at]));
        for formula in all() {
            // Lemma 3.3 is for q < 2.
            let symbols =
                symbols.map(|(name, value)| (name, if formula.place == "lemma 3.3" && name == "q" { 1.2 } else { value }));
            let found = (formula.at)(&Symbols(&symbols));
            let read = read(formula.text, &|name| Symbols(&symbols).of(name));
            assert!((found - read).abs() <= 1e-12 * found.abs(), "{formula}: {found}, and its text says {read}");
        }
    }
    // A text that says something else is found.
    let symbols = [("x", 3.0)];
    assert_ne!(read("y = 2 x²/3 + 1", &|name| Symbols(&symbols).of(name)), 19.0);
    assert_eq!(read("y = 2 x²/3 + 1", &|name| Symbols(&symbols).of(name)), 7.0);
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
