//! Draws charts as SVG.
//!
//! A chart has panels with grid, axes, bands, error bars, dashed lines and markers, and one legend.
//!
//! The colours are those of Okabe and Ito, which readers with any colour vision can distinguish. Dashes and markers differ as
//! well, so that a chart remains readable in grey. Every marker says its numbers as a title, which browsers show on hovering.
//! The neutral colours are constants, because the page replaces their values in dark mode.

use super::axis::Axis;
use super::cell_data::grouped;
use super::text::short;
use maud::{Markup, PreEscaped, html};

const INK: &str = "#222222";
const AXIS: &str = "#8A8A8A";
const GRID: &str = "#E3E3E3";
/// Colours of the series, which TikZ shares.
pub(super) const PALETTE: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A7A7A"];
/// Least and greatest value of red, green and blue in a heat map.
const HEAT: [(f64, f64); 3] = [(253.0, 0.0), (243.0, 80.0), (225.0, 125.0)];
/// Dash patterns; the first line is solid.
const DASHES: [&str; 5] = ["", "9 4", "3 3", "13 4", "1.5 4"];
const N_MARKERS: usize = 6;

/// Size of a panel in pixels, with its least margins for texts.
const PANEL: (f64, f64) = (440.0, 318.0);
const LEFT: f64 = 60.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
const LEGEND_ROW: f64 = 20.0;
const FONT: f64 = 13.0;
/// Width of a digit, in pixels.
const DIGIT: f64 = 0.64 * FONT;
/// Width of the label of the y axis with the gaps beside it, in pixels.
const Y_LABEL: f64 = 26.0;
/// Largest number of panels beside each other in a file.
const N_COLUMNS: usize = 3;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    pub(super) name: String,
    /// Index of colour, marker and dash; equal for the same name in all panels of a chart.
    pub(super) style: usize,
    /// Points `(x, y)` in the order of x.
    pub(super) points: Vec<(f64, f64)>,
    /// `(low, high)` of each point, where known.
    pub(super) intervals: Vec<Option<(f64, f64)>>,
    /// Whether intervals are bars with a marker at each point, rather than a band.
    pub(super) bars: bool,
    /// Whether the line is a guide and not a measurement: thin, grey, without markers.
    pub(super) guide: bool,
}

impl Series {
    /// Returns the grey line of the run without privacy, from the first to the last of these x.
    pub(super) fn flat(height: f64, xs: &[f64]) -> Self {
        let points = vec![(xs[0], height), (xs[xs.len() - 1], height)];
        Self { name: "without privacy".to_owned(), style: 6, points, guide: true, ..Self::default() }
    }

    /// Returns the ends of the interval of a point, where known.
    pub(super) fn interval(&self, i: usize) -> Option<(f64, f64)> {
        self.intervals.get(i).copied().flatten()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tile {
    /// Indices of column and row, of axes [`Axis::of_texts`].
    pub(super) place: (usize, usize),
    /// The share that the colour shows, cut off at 0 and 1; `None` where it is unknown.
    pub(super) share: Option<f64>,
    /// The numbers, which are shown on hovering.
    pub(super) reading: String,
}

/// Holds one pair of axes with its lines or tiles.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    pub(super) tiles: Vec<Tile>,
}

/// Holds a chart of one or more panels with the same legend.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart {
    /// Description of the chart, for readers who cannot see it.
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

impl Chart {
    /// Returns the entries of the legend: one series for each name, in order of first appearance.
    pub(super) fn legend(&self) -> Vec<&Series> {
        let all = self.panels.iter().flat_map(|panel| &panel.series);
        grouped(all.map(|series| (&series.name, series))).into_iter().map(|named| named[0]).collect()
    }

    pub(super) fn svg(&self) -> String {
        let n_columns = self.panels.len().clamp(1, N_COLUMNS);
        let n_rows = self.panels.len().div_ceil(n_columns);
        let width = PANEL.0 * n_columns as f64;
        let entries = self.legend();
        let longest = entries.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
        let entry_width = 56.0 + longest as f64 * FONT * 0.56;
        let per_row = (((width - LEFT) / entry_width) as usize).max(1);
        let top = 8.0 + LEGEND_ROW * entries.len().div_ceil(per_row) as f64;
        let height = top + PANEL.1 * n_rows as f64;
        let body = html! {
            rect width=(width) height=(height) fill="#FFFFFF" {}
            @for (i, series) in entries.iter().enumerate() {
                g transform=(format!("translate({:.1} {:.1})", LEFT + (i % per_row) as f64 * entry_width, 8.0 + (i / per_row) as f64 * LEGEND_ROW)) {
                    (sample(series))
                    text x="40" y="13.5" fill=(INK) { (series.name) }
                }
            }
            @for (i, panel) in self.panels.iter().enumerate() {
                g transform=(format!("translate({} {})", (i % n_columns) as f64 * PANEL.0, top + (i / n_columns) as f64 * PANEL.1)) {
                    (panel.body())
                }
            }
        };
        document(&self.title, width, height, &body)
    }
}

fn document(title: &str, width: f64, height: f64, body: &Markup) -> String {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(title) viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" font-size=(FONT) {
            (body)
        }
    }
    .into_string()
}

/// Returns the sample of a line for a legend, 34 by 20 pixels.
pub(super) fn sample(series: &Series) -> Markup {
    html! { (stroke("M0 9H34", series)) @if !series.guide { (marker((17.0, 9.0), series, None)) } }
}

impl Panel {
    /// Returns the panel alone as an SVG document, without a legend.
    pub(super) fn svg(&self, title: &str) -> String {
        document(&format!("{title} {}", self.title), PANEL.0, PANEL.1, &self.body())
    }

    /// Returns the x positions of the left and the right end of the axes, which leave room for the texts of all ticks.
    fn ends(&self) -> (f64, f64) {
        let width = |text: &String| DIGIT * text.chars().count() as f64;
        let widest = self.y.ticks().iter().map(|(_, text)| width(text)).fold(0.0, f64::max);
        let last = self.x.ticks().last().map_or(0.0, |(_, text)| width(text));
        (LEFT.max(Y_LABEL + widest), PANEL.0 - RIGHT.max(0.5 * last + 2.0))
    }

    fn x(&self, (left, right): (f64, f64), x: f64) -> f64 {
        left + self.x.place(x) * (right - left)
    }

    fn y(&self, y: f64) -> f64 {
        PANEL.1 - BOTTOM - self.y.place(y) * (PANEL.1 - TOP - BOTTOM)
    }

    fn body(&self) -> Markup {
        // A long title begins at the left end, in letters that fit.
        let room = |x: f64| (PANEL.0 - x) / self.title.chars().count().max(1) as f64;
        let left = if DIGIT < room(self.ends().0) { self.ends().0 } else { 2.0 };
        let size = FONT.min(FONT * room(left) / DIGIT);
        html! {
            text x=(format!("{left:.1}")) y="18" fill=(INK) font-weight="600" font-size=(format!("{size:.1}")) { (self.title) }
            (self.axes())
            @for tile in &self.tiles { (self.tile(tile)) }
            @for series in &self.series {
                g class=(format!("series s{}", series.style)) data-series=(series.name) {
                    @if !series.bars { (self.band(series)) }
                    (self.line(series))
                }
            }
        }
    }

    fn axes(&self) -> Markup {
        let (ends, bottom) = (self.ends(), PANEL.1 - BOTTOM);
        let (left, right) = ends;
        let (middle, half_up) = (0.5 * (left + right), 0.5 * (TOP + bottom));
        html! {
            @for (x, text) in self.x.ticks() {
                @let x = format!("{:.1}", self.x(ends, x));
                path d=(format!("M{x} {TOP}V{bottom}")) stroke=(GRID) {}
                text x=(x) y=(bottom + 17.0) fill=(INK) text-anchor="middle" { (text) }
            }
            @for (y, text) in self.y.ticks() {
                @let y = self.y(y);
                path d=(format!("M{left:.1} {y:.1}H{right:.1}")) stroke=(GRID) {}
                text x=(format!("{:.1}", left - 6.0)) y=(format!("{:.1}", y + 4.5)) fill=(INK) text-anchor="end" { (text) }
            }
            path d=(format!("M{left:.1} {TOP}V{bottom}H{right:.1}")) stroke=(AXIS) fill="none" {}
            text x=(format!("{middle:.1}")) y=(bottom + 37.0) fill=(INK) text-anchor="middle" { (self.x.label) }
            text transform=(format!("translate(13 {half_up}) rotate(-90)")) fill=(INK) text-anchor="middle" { (self.y.label) }
        }
    }

    /// Returns one place of a heat map, with its number in percent where there is room.
    fn tile(&self, tile: &Tile) -> Markup {
        let (column, row) = (tile.place.0 as f64, tile.place.1 as f64);
        let (left, right) = (self.x(self.ends(), column - 0.5), self.x(self.ends(), column + 0.5));
        let (top, bottom) = (self.y(row + 0.5), self.y(row - 0.5));
        // From pale to dark in equal steps of each channel: any colour vision orders it.
        let fill = tile.share.map_or(GRID.to_owned(), |share| {
            let [red, green, blue] = HEAT.map(|(from, to)| (from + share.clamp(0.0, 1.0) * (to - from)).round() as u8);
            format!("#{red:02X}{green:02X}{blue:02X}")
        });
        let text = tile.share.map_or("–".to_owned(), |share| format!("{:.0}", 100.0 * share + 0.0));
        let ink = if tile.share.is_some_and(|share| 0.5 < share) { "#FFFFFF" } else { "#1D2127" };
        html! {
            rect.tile x=(format!("{left:.1}")) y=(format!("{top:.1}")) width=(format!("{:.1}", right - left))
                height=(format!("{:.1}", bottom - top)) fill=(fill) { title { (tile.reading) } }
            @if 28.0 <= right - left && FONT <= bottom - top {
                text.on-tile x=(format!("{:.1}", 0.5 * (left + right))) y=(format!("{:.1}", 0.5 * (top + bottom) + 4.5)) fill=(ink)
                    text-anchor="middle" pointer-events="none" { (text) }
            }
        }
    }

    /// Returns the positions of the points that can be shown, with their indices.
    fn shown(&self, series: &Series) -> Vec<(usize, (f64, f64))> {
        let can = |(_, (x, y)): &(usize, &(f64, f64))| self.x.can_show(*x) && self.y.can_show(*y);
        // Bars at the same x stand beside each other.
        let rank = self.series.iter().filter(|other| other.bars && other.style < series.style).count() as f64;
        let n_bars = self.series.iter().filter(|other| other.bars).count() as f64;
        let ends = self.ends();
        let aside = if series.bars { 3.0 * (rank - 0.5 * (n_bars - 1.0)) } else { 0.0 };
        series.points.iter().enumerate().filter(can).map(|(i, (x, y))| (i, (self.x(ends, *x) + aside, self.y(*y)))).collect()
    }

    fn band(&self, series: &Series) -> Markup {
        let ends = |(i, (x, _)): &(usize, (f64, f64))| {
            let (low, high) = series.interval(*i)?;
            Some((*x, self.y(low), self.y(high)))
        };
        let known: Vec<(f64, f64, f64)> = self.shown(series).iter().filter_map(ends).collect();
        if known.len() < 2 {
            return html! {};
        }
        let upper = known.iter().map(|(x, _, high)| (*x, *high));
        let outline: Vec<(f64, f64)> = upper.chain(known.iter().rev().map(|(x, low, _)| (*x, *low))).collect();
        html! { path d=(path(&outline) + "Z") fill=(colour(series)) fill-opacity="0.16" {} }
    }

    fn line(&self, series: &Series) -> Markup {
        let shown = self.shown(series);
        let places: Vec<(f64, f64)> = shown.iter().map(|(_, place)| *place).collect();
        let marked = if series.guide {
            Vec::new()
        } else if series.bars {
            shown
        } else {
            spaced(&shown, series.style, self.ends())
        };
        html! {
            @if 2 <= places.len() { (stroke(&path(&places), series)) }
            @for (i, place) in marked {
                @if let (true, Some((low, high))) = (series.bars, series.interval(i)) {
                    @let (x, low, high) = (place.0, self.y(low), self.y(high));
                    path d=(format!("M{x:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}h6M{0:.1} {high:.1}h6", x - 3.0))
                        stroke=(colour(series)) stroke-width="1.3" fill="none" {}
                }
                (marker(place, series, Some(self.reading(series, i))))
            }
        }
    }

    /// Returns the numbers at a point: what its marker says on hovering.
    fn reading(&self, series: &Series, i: usize) -> String {
        let (x, y) = series.points[i];
        let interval = series.interval(i).map_or(String::new(), |(low, high)| format!(" ({} to {})", short(low), short(high)));
        let setting = if self.title.is_empty() { String::new() } else { format!(", {}", self.title) };
        format!("{}: {} {}{interval} at {} {}{setting}", series.name, self.y.label, short(y), self.x.label, short(x))
    }
}

/// Returns a path through these places, to a tenth of a pixel.
fn path(places: &[(f64, f64)]) -> String {
    let step = |(i, (x, y)): (usize, &(f64, f64))| format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
    places.iter().enumerate().map(step).collect()
}

/// Returns about seven of the points, evenly spread over the width and shifted a little from series to series.
fn spaced(shown: &[(usize, (f64, f64))], style: usize, (left, right): (f64, f64)) -> Vec<(usize, (f64, f64))> {
    let every = (right - left) / 7.0;
    let mut next = left + 0.5 * every + (11.0 * style as f64) % every;
    let mut chosen = Vec::new();
    for &(i, place) in shown {
        if next <= place.0 {
            chosen.push((i, place));
            next = place.0 + every;
        }
    }
    if chosen.is_empty() { shown.last().copied().into_iter().collect() } else { chosen }
}

fn stroke(d: &str, series: &Series) -> Markup {
    let dash = DASHES[series.style % DASHES.len()];
    html! {
        @if series.guide { path d=(d) stroke=(AXIS) fill="none" {} }
        @else { path d=(d) stroke=(colour(series)) stroke-width="2" fill="none" stroke-dasharray=[(!dash.is_empty()).then_some(dash)] {} }
    }
}

fn marker((x, y): (f64, f64), series: &Series, reading: Option<String>) -> Markup {
    let shape = match series.style % N_MARKERS {
        0 => "m-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z",
        1 => "m-4 -4h8v8h-8z",
        2 => "m0 -5.5l5 9h-10z",
        3 => "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
        4 => "m0 5.5l5 -9h-10z",
        _ => "m-1.8 -5.5h3.6v3.7h3.7v3.6h-3.7v3.7h-3.6v-3.7h-3.7v-3.6h3.7z",
    };
    html! {
        path d=(format!("M{x:.1} {y:.1}{shape}")) fill=(colour(series)) { @if let Some(reading) = reading { title { (reading) } } }
    }
}

fn colour(series: &Series) -> &'static str {
    PALETTE[series.style % PALETTE.len()]
}

/// Returns the parts of a chart for a page: its legend and one drawing for each panel.
pub(super) fn parts(chart: &Chart) -> Markup {
    html! {
        @let entries = chart.legend();
        @if 1 < entries.len() {
            ul.legend {
                @for series in entries {
                    li data-series=(series.name) {
                        svg viewBox="0 0 34 18" width="34" height="18" aria-hidden="true" { (sample(series)) }
                        span { (series.name) }
                    }
                }
            }
        }
        div.panels { @for panel in &chart.panels { div { (PreEscaped(panel.svg(&chart.title))) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_room_for_their_texts() {
        let panel = |most: f64| Panel {
            title: String::new(),
            x: Axis::holding("round", false, [0.0, most].into_iter()),
            y: Axis::holding("regret", false, [0.0, most].into_iter()),
            series: Vec::new(),
            tiles: Vec::new(),
        };
        assert_eq!(panel(10.0).ends(), (LEFT, PANEL.0 - RIGHT));
        // The text of the last tick is centred at the right end; that of the highest tick ends beside the label.
        let (left, right) = panel(10_000.0).ends();
        assert!(16.0 < left - 6.0 - 5.0 * DIGIT && right + 2.5 * DIGIT < PANEL.0);
    }

    #[test]
    fn awkward_charts_are_drawn_and_escaped() {
        for points in [vec![], vec![(1.0, 2.0)], vec![(0.0, 0.0), (1.0, f64::NAN), (2.0, 1e300)]] {
            for (logarithmic, bars) in [(false, false), (true, true)] {
                let series = (0..14)
                    .map(|i| Series {
                        name: format!("a <b> & \"{i}\""),
                        style: i,
                        intervals: points.iter().map(|(_, y)| Some((y - 1.0, y + 1.0))).collect(),
                        points: points.clone(),
                        bars,
                        guide: i == 13,
                    })
                    .collect();
                let panel = Panel {
                    title: "<p>".to_owned(),
                    x: Axis::holding("x", logarithmic, points.iter().map(|p| p.0)),
                    y: Axis::holding("y", logarithmic, points.iter().map(|p| p.1)),
                    series,
                    tiles: Vec::new(),
                };
                let chart = Chart { title: "<t> & 'u'".to_owned(), panels: vec![panel.clone(), panel] };
                for svg in [chart.svg(), parts(&chart).into_string()] {
                    assert!(svg.contains("aria-label=\"&lt;t&gt; &amp; 'u'"), "{svg}");
                    assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
                    assert!(!svg.contains("<b>") && !svg.contains("<p>") && !svg.contains("NaN"));
                }
                assert_eq!(chart.legend().len(), 14);
            }
        }
    }
}
