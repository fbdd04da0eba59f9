//! Holds a table once, for the page, the terminal, CSV and LaTeX.

use super::text::csv_field;
use maud::{Markup, html};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heading {
    pub(super) text: String,
    /// The whole key of a shortened title, shown on hovering.
    pub(super) full: String,
    /// Whether the column has numbers, which are flush right.
    pub(super) is_number: bool,
}

/// A table: titles, rows of texts and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    pub(super) headings: Vec<Heading>,
    pub(super) rows: Vec<Vec<String>>,
    /// Sentences below the table.
    pub(super) notes: Vec<String>,
}

/// Marks of cells, with their meaning in LaTeX.
const SYMBOLS: [(char, &str); 12] = [
    ('\\', "\\textbackslash{}"),
    ('±', "$\\pm$"),
    ('−', "$-$"),
    ('–', "--"),
    ('★', "$\\star$"),
    ('☆', "$\\circ$"),
    ('†', "\\dag{}"),
    ('ε', "$\\varepsilon$"),
    ('δ', "$\\delta$"),
    ('·', "$\\cdot$"),
    ('²', "$^2$"),
    ('…', "\\dots{}"),
];

impl Grid {
    /// Returns a table with these titles, each with whether the column has numbers, and no notes.
    pub fn of<'t>(titles: impl IntoIterator<Item = (&'t str, bool)>, rows: Vec<Vec<String>>) -> Self {
        let mut grid = Self { rows, ..Self::default() };
        titles.into_iter().for_each(|(title, is_number)| grid.column(title, title, is_number));
        grid
    }

    /// Adds a column; `key` is the whole name if `text` is a short one.
    pub(super) fn column(&mut self, text: &str, key: &str, is_number: bool) {
        self.headings.push(Heading { text: text.to_owned(), full: key.to_owned(), is_number });
    }

    /// Returns the table of a page: it can be read on a narrow screen, where each row becomes a card.
    pub(super) fn html(&self) -> Markup {
        html! {
            div.scroll { table.stack {
                thead { tr {
                    @for heading in &self.headings {
                        th.n[heading.is_number] scope="col" title=[(heading.full != heading.text).then_some(&heading.full)] { (heading.text) }
                    }
                } }
                tbody {
                    @for row in &self.rows {
                        tr {
                            @for (heading, text) in self.headings.iter().zip(row) {
                                td.n[heading.is_number].best[text.contains('★')] data-label=(heading.text) { (text) }
                            }
                        }
                    }
                }
            } }
            @for note in &self.notes { p.note { (note) } }
        }
    }

    /// Returns the table as CSV, with the whole keys as its header.
    pub fn csv(&self) -> String {
        let line = |texts: &mut dyn Iterator<Item = &str>| texts.map(csv_field).collect::<Vec<_>>().join(",") + "\n";
        let mut text = line(&mut self.headings.iter().map(|heading| heading.full.as_str()));
        self.rows.iter().for_each(|row| text += &line(&mut row.iter().map(String::as_str)));
        text
    }

    /// Returns the table as LaTeX for the package `booktabs`.
    pub fn tex(&self) -> String {
        let columns: String = self.headings.iter().map(|heading| if heading.is_number { 'r' } else { 'l' }).collect();
        let line =
            |texts: &mut dyn Iterator<Item = &str>| format!("{} \\\\\n", texts.map(tex_text).collect::<Vec<_>>().join(" & "));
        let mut text = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
        text += &line(&mut self.headings.iter().map(|heading| heading.text.as_str()));
        text += "\\midrule\n";
        self.rows.iter().for_each(|row| text += &line(&mut row.iter().map(String::as_str)));
        text += "\\bottomrule\n\\end{tabular}\n";
        self.notes.iter().for_each(|note| text += &format!("% {note}\n"));
        text
    }

    /// Fits the table in plain text to a width: removes the last columns of numbers but two, or one, and cuts the longest texts.
    ///
    /// Returns the titles of the removed columns.
    pub(super) fn fit(&mut self, width: usize) -> Vec<String> {
        let is_wide = |grid: &Self| width + 2 < grid.widths().iter().map(|column| column + 2).sum();
        let (whole, mut left_out) = (self.clone(), Vec::new());
        for n_numbers in [2, 1] {
            if !is_wide(self) {
                break;
            }
            (*self, left_out) = (whole.clone(), Vec::new());
            while is_wide(self) && n_numbers < self.headings.iter().filter(|heading| heading.is_number).count() {
                let Some(last) = self.headings.iter().rposition(|heading| heading.is_number) else { break };
                left_out.insert(0, self.headings.remove(last).text);
                self.rows.iter_mut().for_each(|row| drop(row.remove(last)));
            }
            while is_wide(self) && self.cut_widest() {}
        }
        left_out
    }

    /// Cuts the texts of the widest column by one character; returns false where no column of texts is wider than 8.
    fn cut_widest(&mut self) -> bool {
        let texts = self.widths().into_iter().enumerate().filter(|(column, _)| !self.headings[*column].is_number);
        let Some((column, most)) = texts.max_by_key(|(_, width)| *width).filter(|(_, width)| 8 < *width) else { return false };
        let title = &mut self.headings[column].text;
        for text in std::iter::once(title).chain(self.rows.iter_mut().map(|row| &mut row[column])) {
            if text.chars().count() == most {
                *text = text.chars().take(most - 2).chain(['…']).collect();
            }
        }
        true
    }

    /// Returns the number of characters of each column.
    fn widths(&self) -> Vec<usize> {
        let count = |text: &String| text.chars().count();
        let width = |(column, heading): (usize, &Heading)| {
            self.rows.iter().map(|row| count(&row[column])).max().unwrap_or(0).max(count(&heading.text))
        };
        self.headings.iter().enumerate().map(width).collect()
    }

    /// Returns the table in plain text with aligned columns, and its notes.
    pub fn plain(&self) -> String {
        let headings: Vec<String> = self.headings.iter().map(|heading| heading.text.clone()).collect();
        let widths = self.widths();
        let mut text = String::new();
        for line in std::iter::once(&headings).chain(&self.rows) {
            let padded: Vec<String> = line
                .iter()
                .zip(&self.headings)
                .zip(&widths)
                .map(
                    |((cell, heading), &width)| {
                        if heading.is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                    },
                )
                .collect();
            text += padded.join("  ").trim_end();
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text += &format!("{note}\n"));
        text
    }
}

/// Returns a text with LaTeX's own characters escaped.
pub(super) fn tex_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match SYMBOLS.iter().find(|(symbol, _)| *symbol == c) {
            Some((_, tex)) => escaped += tex,
            None if "&%$#_{}".contains(c) => escaped += &format!("\\{c}"),
            None if c == '~' || c == '^' => escaped += &format!("\\{c}{{}}"),
            None => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_has_four_forms() {
        let mut grid = Grid { notes: vec!["a note".to_owned()], ..Grid::default() };
        grid.column("epsilon", "privacy.epsilon", false);
        grid.column("a_b <c>", "a_b <c>", true);
        grid.rows.push(vec!["0.5".to_owned(), "1 ± 2 ★".to_owned()]);
        assert_eq!(grid.plain(), "epsilon  a_b <c>\n0.5      1 ± 2 ★\na note\n");
        assert_eq!(grid.csv(), "privacy.epsilon,a_b <c>\n0.5,1 ± 2 ★\n");
        assert!(grid.tex().contains("epsilon & a\\_b <c> \\\\\n\\midrule\n0.5 & 1 $\\pm$ 2 $\\star$ \\\\\n\\bottomrule"));
        let mut narrow = grid.clone();
        for title in ["learnt", "last"] {
            narrow.column(title, title, true);
            narrow.rows[0].push("7 ± 8".to_owned());
        }
        narrow.headings[0].text = "a long title".to_owned();
        // The last numbers go first, then texts are cut, and the second numbers go where that is not enough.
        let fitted = |width: usize| {
            let mut grid = narrow.clone();
            (grid.fit(width).join(", "), grid.plain().lines().next().unwrap_or_default().to_owned())
        };
        assert_eq!(fitted(36), (String::new(), "a long title  a_b <c>  learnt   last".to_owned()));
        assert_eq!(fitted(29), ("last".to_owned(), "a long title  a_b <c>  learnt".to_owned()));
        assert_eq!(fitted(27), ("last".to_owned(), "a long ti…  a_b <c>  learnt".to_owned()));
        assert_eq!(fitted(20), ("learnt, last".to_owned(), "a long tit…  a_b <c>".to_owned()));
        let html = grid.html().into_string();
        assert!(html.contains("title=\"privacy.epsilon\"") && html.contains("a_b &lt;c&gt;") && html.contains("best"), "{html}");
    }
}
