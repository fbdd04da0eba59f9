//! Draws one chart as SVG: grid, axes, legend, bands, error bars, dashed lines, markers.
//!
//! The colours are those of Okabe and Ito, which readers with any colour vision can distinguish. Dashes and markers differ as
//! well, so that the chart remains readable in grey. It is drawn at twice its shown size, so that whole pixels are fine enough.
//! The neutral colours are constants, because the page replaces their values in dark mode.

use super::axis::Axis;
use maud::html;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::FontFamily;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Colour of the background.
pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);
/// Colour of texts.
pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
/// Colour of axis lines.
pub(super) const AXIS: RGBColor = RGBColor(138, 138, 138);
/// Colour of grid lines.
pub(super) const GRID: RGBColor = RGBColor(227, 227, 227);

const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(122, 122, 122),
];
/// Dash and gap in pixels; the first line is solid.
const DASHES: [Option<(i32, i32)>; 5] = [None, Some((22, 10)), Some((8, 8)), Some((32, 8)), Some((4, 10))];
const N_MARKERS: usize = 6;

const WIDTH: i32 = 1240;
const PLOT_HEIGHT: i32 = 640;
const LEFT: i32 = 150;
const RIGHT: i32 = 40;
const BOTTOM: i32 = 112;
const LEGEND_ROW: i32 = 44;
const FONT: f64 = 27.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Holds one line of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    pub(super) name: String,
    /// Index of the colour and the marker.
    pub(super) colour: usize,
    /// Index of the dash.
    pub(super) dash: usize,
    /// Points `(x, y)` in the order of x.
    pub(super) points: Vec<(f64, f64)>,
    /// `(low, high)` of each point, where known.
    pub(super) intervals: Vec<Option<(f64, f64)>>,
    /// Whether intervals are bars with a marker at each point, rather than a band.
    pub(super) bars: bool,
    /// Whether the line is a guide and not a measurement: thin, grey, without markers.
    pub(super) guide: bool,
}

/// Holds a chart, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart {
    /// Description of the chart, for readers who cannot see it.
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

impl Chart {
    /// Returns the SVG document.
    ///
    /// # Errors
    /// The message of the drawing library; drawing into memory is not expected to fail.
    pub(super) fn svg(&self) -> Result<String, String> {
        let legend = self.legend();
        let top = 24 + LEGEND_ROW * legend.iter().map(|place| place.1 + 1).max().unwrap_or(0);
        let mut text = String::new();
        let size = (WIDTH as u32, (top + PLOT_HEIGHT + BOTTOM) as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let frame = Frame { chart: self, top };
        frame.draw(&area, &legend).map_err(|source| source.to_string())?;
        area.present().map_err(|source| source.to_string())?;
        drop(area);
        let described = format!("<svg role=\"img\" aria-label=\"{}\" ", html! { (self.title) }.into_string());
        Ok(text.replacen("<svg ", &described, 1))
    }

    /// Returns the left end (in pixels) and the row of each legend entry.
    ///
    /// The columns are as wide as the longest name needs.
    fn legend(&self) -> Vec<(i32, i32)> {
        let longest = self.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
        let width = 96 + (longest as f64 * FONT * 0.56) as i32 + 36;
        let n_columns = ((WIDTH - LEFT) / width).max(1);
        (0..self.series.len() as i32).map(|i| (LEFT + i % n_columns * width, i / n_columns)).collect()
    }
}

struct Frame<'c> {
    chart: &'c Chart,
    top: i32,
}

impl Frame<'_> {
    fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.x(x), self.y(y))
    }

    fn x(&self, x: f64) -> i32 {
        LEFT + (self.chart.x.place(x) * f64::from(WIDTH - LEFT - RIGHT)).round() as i32
    }

    fn y(&self, y: f64) -> i32 {
        self.top + PLOT_HEIGHT - (self.chart.y.place(y) * f64::from(PLOT_HEIGHT)).round() as i32
    }

    fn draw(&self, area: &Area<'_>, legend: &[(i32, i32)]) -> Drawn {
        area.fill(&PAPER)?;
        self.axes(area)?;
        for series in &self.chart.series {
            if !series.bars {
                self.band(area, series)?;
            }
        }
        for series in &self.chart.series {
            self.line(area, series)?;
        }
        for (series, (x, row)) in self.chart.series.iter().zip(legend) {
            let y = 24 + LEGEND_ROW * row + LEGEND_ROW / 2 - 8;
            stroke(area, &[(*x, y), (x + 84, y)], series)?;
            if !series.guide {
                marker(area, (x + 42, y), series.colour)?;
            }
            area.draw_text(&series.name, &text_style(HPos::Left, VPos::Center), (x + 98, y))?;
        }
        Ok(())
    }

    fn axes(&self, area: &Area<'_>) -> Drawn {
        let (right, bottom) = (WIDTH - RIGHT, self.top + PLOT_HEIGHT);
        for (x, text) in self.chart.x.ticks() {
            let x = self.x(x);
            area.draw(&PathElement::new(vec![(x, self.top), (x, bottom)], GRID.stroke_width(2)))?;
            area.draw_text(&text, &text_style(HPos::Center, VPos::Top), (x, bottom + 14))?;
        }
        for (y, text) in self.chart.y.ticks() {
            let y = self.y(y);
            area.draw(&PathElement::new(vec![(LEFT, y), (right, y)], GRID.stroke_width(2)))?;
            area.draw_text(&text, &text_style(HPos::Right, VPos::Center), (LEFT - 14, y))?;
        }
        area.draw(&PathElement::new(vec![(LEFT, self.top), (LEFT, bottom), (right, bottom)], AXIS.stroke_width(2)))?;
        let middle = LEFT + (right - LEFT) / 2;
        area.draw_text(&self.chart.x.label, &text_style(HPos::Center, VPos::Top), (middle, bottom + 64))?;
        let turned = text_style(HPos::Center, VPos::Top).transform(FontTransform::Rotate270);
        area.draw_text(&self.chart.y.label, &turned, (18, self.top + PLOT_HEIGHT / 2))?;
        Ok(())
    }

    fn band(&self, area: &Area<'_>, series: &Series) -> Drawn {
        let known: Vec<(f64, f64, f64)> = series
            .points
            .iter()
            .zip(&series.intervals)
            .filter(|((x, y), _)| self.chart.x.can_show(*x) && self.chart.y.can_show(*y))
            .filter_map(|((x, _), interval)| interval.map(|(low, high)| (*x, low, high)))
            .collect();
        if known.len() < 2 {
            return Ok(());
        }
        let mut outline: Vec<(i32, i32)> = known.iter().map(|(x, _, high)| self.at(*x, *high)).collect();
        outline.extend(known.iter().rev().map(|(x, low, _)| self.at(*x, *low)));
        area.draw(&Polygon::new(outline, colour(series.colour).mix(0.16).filled()))?;
        Ok(())
    }

    fn line(&self, area: &Area<'_>, series: &Series) -> Drawn {
        let shown: Vec<usize> = (0..series.points.len())
            .filter(|&i| self.chart.x.can_show(series.points[i].0) && self.chart.y.can_show(series.points[i].1))
            .collect();
        let places: Vec<(i32, i32)> = shown.iter().map(|&i| self.at(series.points[i].0, series.points[i].1)).collect();
        if 2 <= places.len() {
            stroke(area, &places, series)?;
        }
        if series.bars {
            for (&i, &place) in shown.iter().zip(&places) {
                if let Some((low, high)) = series.intervals.get(i).copied().flatten() {
                    self.bar(area, place.0, (self.y(low), self.y(high)), series.colour)?;
                }
                marker(area, place, series.colour)?;
            }
        } else if !series.guide {
            for place in spaced(&places, series.colour) {
                marker(area, place, series.colour)?;
            }
        }
        Ok(())
    }

    fn bar(&self, area: &Area<'_>, x: i32, (low, high): (i32, i32), colour_idx: usize) -> Drawn {
        let style = colour(colour_idx).stroke_width(3);
        for path in [[(x, low), (x, high)], [(x - 9, low), (x + 9, low)], [(x - 9, high), (x + 9, high)]] {
            area.draw(&PathElement::new(path.to_vec(), style))?;
        }
        Ok(())
    }
}

/// Returns about seven positions, evenly spread over a curve's width.
///
/// They are shifted a little from series to series.
fn spaced(places: &[(i32, i32)], series_idx: usize) -> Vec<(i32, i32)> {
    let every = (WIDTH - LEFT - RIGHT) / 7;
    let mut next = LEFT + every / 2 + (series_idx as i32 * 31) % every;
    let mut chosen = Vec::new();
    for &place in places {
        if next <= place.0 {
            chosen.push(place);
            next = place.0 + every;
        }
    }
    if chosen.is_empty() { places.last().copied().into_iter().collect() } else { chosen }
}

fn stroke(area: &Area<'_>, places: &[(i32, i32)], series: &Series) -> Drawn {
    if series.guide {
        area.draw(&PathElement::new(places.to_vec(), AXIS.stroke_width(2)))?;
        return Ok(());
    }
    let style = colour(series.colour).stroke_width(4);
    match DASHES[series.dash % DASHES.len()] {
        None => area.draw(&PathElement::new(places.to_vec(), style))?,
        Some((dash, gap)) => area.draw(&DashedPathElement::new(places.to_vec(), dash, gap, style))?,
    }
    Ok(())
}

fn marker(area: &Area<'_>, (x, y): (i32, i32), series_idx: usize) -> Drawn {
    let style = colour(series_idx).filled();
    let polygon = |corners: &[(i32, i32)]| {
        area.draw(&Polygon::new(corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>(), style))
    };
    match series_idx % N_MARKERS {
        0 => area.draw(&Circle::new((x, y), 9, style))?,
        1 => polygon(&[(-9, -9), (9, -9), (9, 9), (-9, 9)])?,
        2 => polygon(&[(0, -12), (11, 8), (-11, 8)])?,
        3 => polygon(&[(0, -12), (12, 0), (0, 12), (-12, 0)])?,
        4 => polygon(&[(0, 12), (11, -8), (-11, -8)])?,
        _ => polygon(&[
            (-4, -12),
            (4, -12),
            (4, -4),
            (12, -4),
            (12, 4),
            (4, 4),
            (4, 12),
            (-4, 12),
            (-4, 4),
            (-12, 4),
            (-12, -4),
            (-4, -4),
        ])?,
    }
    Ok(())
}

fn colour(series_idx: usize) -> RGBColor {
    PALETTE[series_idx % PALETTE.len()]
}

fn text_style(horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    // The SVG writer divides sizes by 1.24.
    TextStyle::from((FontFamily::SansSerif, FONT * 1.24)).color(&INK).pos(Pos::new(horizontal, vertical))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn awkward_charts_are_drawn_and_escaped() {
        for points in [vec![], vec![(1.0, 2.0)], vec![(0.0, 0.0), (1.0, f64::NAN), (2.0, 1e300)]] {
            for (logarithmic, bars) in [(false, false), (true, true)] {
                let series = (0..14)
                    .map(|i| Series {
                        name: format!("a <b> & \"{i}\""),
                        colour: i,
                        dash: i,
                        intervals: points.iter().map(|(_, y)| Some((y - 1.0, y + 1.0))).collect(),
                        points: points.clone(),
                        bars,
                        guide: i == 13,
                    })
                    .collect();
                let chart = Chart {
                    title: "<t> & 'u'".to_owned(),
                    x: Axis::holding("x", logarithmic, points.iter().map(|p| p.0)),
                    y: Axis::holding("y", logarithmic, points.iter().map(|p| p.1)),
                    series,
                };
                let svg = chart.svg().expect("drawn");
                assert!(svg.starts_with("<svg role=\"img\" aria-label=\"&lt;t&gt; &amp; 'u'\""), "{}", &svg[..90]);
                assert!(svg.trim_end().ends_with("</svg>") && !svg.contains("<b>") && !svg.contains("NaN"));
            }
        }
    }
}
