//! Writes charts as TikZ for the package `pgfplots`, and as CSV.

use super::axis::Axis;
use super::canvas::{Chart, PALETTE, Panel, Series};
use super::grid::tex_text;
use super::text::{csv_text, number};

/// Line styles of the series, in the order of the drawn ones.
const DASHES: [&str; 5] = ["solid", "dashed", "dotted", "densely dashed", "loosely dotted"];
const MARKS: [&str; 6] = ["*", "square*", "triangle*", "diamond*", "pentagon*", "x"];

impl Chart {
    /// Returns a `tikzpicture` with one axis for each panel, and a comment with what its document must load.
    pub(super) fn tikz(&self) -> String {
        let mut text = "% \\usepackage{pgfplots} \\usepgfplotslibrary{groupplots} \\pgfplotsset{compat=1.15}\n".to_owned();
        for (i, colour) in PALETTE.iter().enumerate() {
            text += &format!("\\definecolor{{privateer{i}}}{{HTML}}{{{}}}\n", &colour[1..]);
        }
        let n_columns = self.panels.len().clamp(1, 3);
        let n_rows = self.panels.len().div_ceil(n_columns);
        text += &format!(
            "\\begin{{tikzpicture}}\n\\begin{{groupplot}}[group style={{group size={n_columns} by {n_rows}, horizontal sep=1.6cm, vertical \
             sep=1.9cm}},\n  width=6.2cm, height=5cm, legend style={{draw=none, font=\\scriptsize}}, legend cell align=left,\n  tick label \
             style={{font=\\scriptsize}}, label style={{font=\\small}}, title style={{font=\\small}}]\n"
        );
        for (i, panel) in self.panels.iter().enumerate() {
            text += &panel.tikz(i == 0);
        }
        text + "\\end{groupplot}\n\\end{tikzpicture}\n"
    }

    /// Returns every point as a row: panel, series, x, y, ends of the interval.
    pub(super) fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", csv_text(text).replace('"', "\"\""));
        let (x, y) = self.panels.first().map_or(("x", "y"), |panel| (panel.x.label.as_str(), panel.y.label.as_str()));
        let mut text = format!("panel,series,{},{},ci95_low,ci95_high\n", quoted(x), quoted(y));
        for panel in &self.panels {
            for series in panel.series.iter().filter(|series| !series.guide) {
                for (i, (x, y)) in series.points.iter().enumerate() {
                    let ends =
                        series.interval(i).map_or(",".to_owned(), |(low, high)| format!("{},{}", number(low), number(high)));
                    text += &format!("{},{},{},{},{ends}\n", quoted(&panel.title), quoted(&series.name), number(*x), number(*y));
                }
            }
        }
        text
    }
}

impl Panel {
    fn tikz(&self, with_legend: bool) -> String {
        let mode = |name: char, axis: &Axis| {
            let ticks = axis.ticks();
            let places: Vec<String> = ticks.iter().map(|(place, _)| number(*place)).collect();
            let labels: Vec<String> = ticks.iter().map(|(_, label)| tex_text(label)).collect();
            format!(
                "{name}mode={}, {name}min={}, {name}max={}, {name}label={{{}}}, {name}tick={{{}}}, {name}ticklabels={{{}}}",
                if axis.logarithmic { "log" } else { "linear" },
                number(axis.low),
                number(axis.high),
                tex_text(&axis.label),
                places.join(","),
                labels.join(",")
            )
        };
        // The first panel carries the legend, above all of them.
        let legend = if with_legend {
            "legend style={at={(0,1.2)}, anchor=south west, fill=none}, legend columns=4"
        } else {
            "legend entries={}"
        };
        let mut text = format!(
            "\\nextgroupplot[title={{{}}}, {},\n  {}, {legend}]\n",
            tex_text(&self.title),
            mode('x', &self.x),
            mode('y', &self.y)
        );
        for series in &self.series {
            text += &self.series(series, with_legend);
        }
        text
    }

    fn series(&self, series: &Series, with_legend: bool) -> String {
        let can = |(_, (x, y)): &(usize, &(f64, f64))| self.x.can_show(*x) && self.y.can_show(*y);
        let points: Vec<(usize, &(f64, f64))> = series.points.iter().enumerate().filter(can).collect();
        let colour = format!("privateer{}", series.style % PALETTE.len());
        let mut text = String::new();
        // An end below a logarithmic axis is drawn at its foot.
        let shown = |y: f64| if self.y.can_show(y) { y.clamp(self.y.low, self.y.high) } else { self.y.low };
        if !series.bars && !series.guide && points.iter().all(|(i, _)| series.interval(*i).is_some()) && 1 < points.len() {
            let side = |high: bool| {
                let end = |&(i, (x, _)): &(usize, &(f64, f64))| {
                    series
                        .interval(i)
                        .map(|(low, top)| format!("({},{})", number(*x), number(shown(if high { top } else { low }))))
                };
                points.iter().filter_map(end).collect::<Vec<_>>()
            };
            let outline: Vec<String> = side(true).into_iter().chain(side(false).into_iter().rev()).collect();
            text += &format!(
                "\\addplot[draw=none, fill={colour}, fill opacity=0.16, forget plot] coordinates {{{}}} \\closedcycle;\n",
                outline.join(" ")
            );
        }
        let style = if series.guide {
            "gray, thin, no markers".to_owned()
        } else {
            let every = (points.len() / 7).max(1);
            format!(
                "{colour}, thick, {}, mark={}, mark options={{solid}}, mark size=1.5pt, mark repeat={every}{}",
                DASHES[series.style % DASHES.len()],
                MARKS[series.style % MARKS.len()],
                if series.bars { ", error bars/.cd, y dir=both, y explicit" } else { "" }
            )
        };
        let coordinates: Vec<String> = points
            .iter()
            .map(|&(i, (x, y))| match series.interval(i).filter(|_| series.bars) {
                Some((low, high)) => {
                    format!(
                        "({},{}) += (0,{}) -= (0,{})",
                        number(*x),
                        number(*y),
                        number(shown(high) - y),
                        number(y - shown(low))
                    )
                }
                None => format!("({},{})", number(*x), number(*y)),
            })
            .collect();
        text += &format!("\\addplot[{style}] coordinates {{{}}};\n", coordinates.join(" "));
        if with_legend {
            text += &format!("\\addlegendentry{{{}}}\n", tex_text(&series.name));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_become_tikz_and_csv() {
        let series = Series {
            name: "a_b".to_owned(),
            points: vec![(1.0, 2.0), (10.0, 3.0)],
            intervals: vec![Some((1.0, 3.0)), None],
            bars: true,
            ..Series::default()
        };
        let panel = Panel {
            title: "50 %".to_owned(),
            x: Axis::marking("ε", true, &[1.0, 10.0]),
            y: Axis::holding("y", false, [1.0, 3.0].into_iter()),
            series: vec![series],
            tiles: Vec::new(),
        };
        let chart = Chart { title: "t".to_owned(), panels: vec![panel] };
        let tikz = chart.tikz();
        for part in [
            "xmode=log",
            "title={50 \\%}",
            "(1,2) += (0,1) -= (0,1) (10,3)",
            "\\addlegendentry{a\\_b}",
            "xlabel={$\\varepsilon$}",
        ] {
            assert!(tikz.contains(part), "{part}: {tikz}");
        }
        assert_eq!(
            chart.csv(),
            "panel,series,\"ε\",\"y\",ci95_low,ci95_high\n\"50 %\",\"a_b\",1,2,1,3\n\"50 %\",\"a_b\",10,3,,\n"
        );
    }
}
