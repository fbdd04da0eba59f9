//! Plays rounds by the shader and by the loop in plain code.

use super::device::{Gpu, GpuOptions};
use super::lanes::GpuRounds;
use super::tests::{device, open, open_replaced};
use privateer_backend::device::{DeviceRounds, LoopDomain};
use privateer_backend::reference::cases::{CaseDraws, TestBasis, TestGram, doubled};
use privateer_backend::reference::trial::LoopTrial;
use privateer_backend::{LaneAnswer, LaneJob, LaneRound, MOST_ROUNDS};
use privateer_gp::FunctionValues;
use privateer_gp::score::{Basis, FactorGrowth, KernelFamily};
use std::sync::Arc;

/// Trials over one table, with what every round has.
struct Trials {
    domain: Arc<LoopDomain>,
    ridge: f64,
    growth: FactorGrowth,
    functions: Vec<Arc<Vec<f64>>>,
    beta: f64,
    /// Noise before and after rewards are clipped, of every round.
    noise: Vec<Vec<(f64, f64)>>,
}

/// What a lane played in the end: all actions, those that the host chose among them, points that are recommended after others, and
/// tiles.
#[derive(Debug, Default, PartialEq)]
struct Play {
    actions: Vec<u32>,
    forced: Vec<usize>,
    recommended: Vec<Option<u32>>,
    tiles: u64,
}

impl Trials {
    fn new(draws: &mut CaseDraws, basis: &Basis, ridge: f64, beta: f64, n_lanes: usize, n_rounds: usize) -> Self {
        let domain = Arc::new(LoopDomain::new(basis).expect("features"));
        let table = &domain.table;
        let function = |draws: &mut CaseDraws| {
            let weights = draws.numbers(table.n_features, -1.0, 1.0);
            let row = |x| table.row(x).iter().zip(&weights).map(|(c, w)| c * w).sum();
            (0..table.n_points).map(row).collect::<Vec<f64>>()
        };
        let functions = (0..n_lanes).map(|_| Arc::new(function(draws))).collect();
        let noise = |draws: &mut CaseDraws| (draws.number(-0.1, 0.1), draws.number(-0.1, 0.1));
        let noise = (0..n_lanes).map(|_| (0..n_rounds).map(|_| noise(draws)).collect()).collect();
        Self { domain, ridge, growth: FactorGrowth::default(), functions, beta, noise }
    }

    /// The point that is played where a lane leaves a round to the host; any will do here.
    fn host(lane: usize, round: usize) -> u32 {
        (31 * lane + 7 * round) as u32 % 300
    }

    /// Whether a lane names a recommended point after this round, if it plays it.
    fn is_recorded(round: usize) -> bool {
        round % 5 != 3
    }

    fn reward(&self, lane: usize, point: u32, (noise, added): (f64, f64)) -> f64 {
        (self.functions[lane][point as usize] + noise).clamp(-0.8, 0.9) + added
    }

    fn by_loop(&self, lane: usize) -> Play {
        let (mut trial, mut play) = (LoopTrial::new(Arc::clone(&self.domain), self.ridge, self.growth), Play::default());
        for (at, &noise) in self.noise[lane].iter().enumerate() {
            // The first round is always the host's.
            let decided = trial.decide(self.beta).filter(|_| at != 0);
            let point = decided.unwrap_or(Self::host(lane, at));
            play.actions.push(point);
            trial.observe(point, self.reward(lane, point, noise));
            if decided.is_none() {
                play.forced.push(at);
            } else if Self::is_recorded(at) {
                play.recommended.push(trial.recommend());
            }
        }
        play.tiles = trial.tiles_visited();
        play
    }

    /// Returns what is played, the number of submissions and bytes up.
    fn by_device(&self, gpu: &Gpu, k: usize) -> (Vec<Play>, usize, u64) {
        let n = self.functions.len();
        let rounds = GpuRounds::new(gpu.shared(), Arc::clone(&self.domain)).expect("a table");
        let mut lanes = rounds.lanes(n, 200).expect("lanes").expect("room");
        let mut plays: Vec<Play> = (0..n).map(|_| Play::default()).collect();
        let (mut submissions, mut forced) = (0, vec![Some(()); n]);
        loop {
            let open: Vec<usize> = (0..n).filter(|&lane| plays[lane].actions.len() < self.noise[lane].len()).collect();
            if open.is_empty() {
                println!("{:?} bytes for {} rounds", lanes.bytes(), n * self.noise[0].len());
                return (plays, submissions, lanes.bytes().0);
            }
            let rounds: Vec<Vec<LaneRound>> = open
                .iter()
                .map(|&lane| {
                    let at = plays[lane].actions.len();
                    let open = |&(noise, added): &(f64, f64)| LaneRound::Open { least: self.beta, noise, added };
                    let mut rounds: Vec<LaneRound> = self.noise[lane][at..].iter().take(k).map(open).collect();
                    if forced[lane].take().is_some() {
                        plays[lane].forced.push(at);
                        let point = Self::host(lane, at);
                        rounds[0] = LaneRound::Forced { point, reward: self.reward(lane, point, self.noise[lane][at]) };
                    }
                    rounds
                })
                .collect();
            let jobs: Vec<LaneJob> = open
                .iter()
                .zip(&rounds)
                .map(|(&lane, rounds)| LaneJob {
                    recorded: (0..rounds.len())
                        .filter(|k| matches!(rounds[*k], LaneRound::Open { .. }))
                        .filter(|k| Self::is_recorded(plays[lane].actions.len() + k))
                        .fold(0, |bits, k| bits | 1 << k),
                    lane,
                    function: plays[lane].actions.is_empty().then(|| FunctionValues::Listed(Arc::clone(&self.functions[lane]))),
                    ridge: self.ridge,
                    growth: self.growth,
                    clip: (-0.8, 0.9),
                    rounds: rounds.clone(),
                })
                .collect();
            lanes.send(&jobs).expect("jobs");
            submissions += 1;
            let answers = lanes.receive().expect("answers");
            for ((&lane, answer), rounds) in open.iter().zip(answers).zip(&rounds) {
                let LaneAnswer { actions, recommended, tiles, is_paused, .. } = answer;
                forced[lane] = (actions.len() < rounds.len() && !is_paused).then_some(());
                plays[lane].actions.extend(actions);
                plays[lane].recommended.extend(recommended);
                plays[lane].tiles += u64::from(tiles);
            }
        }
    }
}

/// The shader names the actions and leaves the rounds that the plain loop does, whatever the number of rounds of a job.
#[test]
fn the_shader_plays_as_the_loop_does() {
    let Some(gpu) = device().filter(|gpu| gpu.shared().has_f64) else { return };
    let mut draws = CaseDraws(61);
    let (mut compared, mut played, mut recommended, mut open) = (0, 0, 0, 0);
    let mut cases = Vec::new();
    for (ridge, beta, twice, slope) in [
        (1e-2, 2.0, false, 0.0),
        (1e-2, 0.0, false, 0.0),
        (1e-2, 2.0, true, 0.0),
        (1e-4, 0.5, false, 0.0),
        (1e-6, 2.0, false, 0.0),
        (1e-2, 0.2, true, 0.5),
        (1e-4, 1.0, false, 0.2),
    ] {
        let table = TestBasis::smooth(&mut draws, 700);
        cases.push((Basis::Table(if twice { doubled(&table) } else { table }), ridge, beta, slope));
    }
    let mut covariance =
        |family, n_points, dimension| Basis::Gram(Arc::new(TestGram::smooth(&mut draws, family, n_points, dimension)));
    for (ridge, beta, slope) in [(1e-2, 2.0, 0.0), (1e-4, 0.5, 0.0), (1e-6, 2.0, 0.0), (1e-2, 0.2, 0.5), (1e-4, 1.0, 0.2)] {
        cases.push((covariance(KernelFamily::SquaredExponential, 700, 1), ridge, beta, slope));
        cases.push((covariance(KernelFamily::MaternFiveHalves, 90, 2), ridge, beta, slope));
    }
    for (basis, ridge, beta, slope) in cases {
        let growth = FactorGrowth { slope, offset: 2.0 * slope };
        let trials = Trials { growth, ..Trials::new(&mut draws, &basis, ridge, beta, 3, 80) };
        let by_loop: Vec<Play> = (0..3).map(|lane| trials.by_loop(lane)).collect();
        for k in [1, 16, MOST_ROUNDS] {
            let (plays, submissions, _) = trials.by_device(&gpu, k);
            assert_eq!(plays, by_loop, "ridge {ridge}, beta {beta}, {k} rounds a job");
            let halts = plays.iter().map(|play| play.forced.len()).max().unwrap_or(0);
            assert!(submissions <= 80usize.div_ceil(k) + halts, "{submissions} submissions for {halts} halts");
            compared += halts;
            played += plays.iter().map(|play| play.actions.len()).sum::<usize>();
            let named = plays.iter().flat_map(|play| &play.recommended);
            open += named.clone().filter(|point| point.is_none()).count();
            recommended += named.count();
        }
    }
    println!("{played} rounds, {compared} left to the host; {recommended} recommendations, {open} left open");
    assert!(50 * open < recommended, "{open} of {recommended} recommendations are open");
}

/// Lanes with one function read it from the lane to which it went up.
#[test]
fn a_function_goes_up_once() {
    let Some(gpu) = device().filter(|gpu| gpu.shared().has_f64) else { return };
    let mut draws = CaseDraws(64);
    let basis = Basis::Table(TestBasis::smooth(&mut draws, 700));
    let mut trials = Trials::new(&mut draws, &basis, 1e-2, 2.0, 4, 40);
    let of_its_own = trials.by_device(&gpu, MOST_ROUNDS).2;
    trials.functions[3] = Arc::clone(&trials.functions[1]);
    let (plays, _, bytes) = trials.by_device(&gpu, MOST_ROUNDS);
    assert_eq!(plays, (0..4).map(|lane| trials.by_loop(lane)).collect::<Vec<_>>());
    assert!(bytes + 8 * 700 <= of_its_own, "{bytes} bytes up, {of_its_own} where each lane has its own");
}

#[test]
fn fewer_threads_play_the_same() {
    for max_threads in [64, 16] {
        let Some(gpu) = open(GpuOptions { max_threads: Some(max_threads), ..GpuOptions::default() }) else { return };
        if !gpu.shared().has_f64 {
            return;
        }
        let mut draws = CaseDraws(62);
        let basis = Basis::Table(doubled(&TestBasis::smooth(&mut draws, 300)));
        let trials = Trials::new(&mut draws, &basis, 1e-4, 0.5, 2, 40);
        let plays = trials.by_device(&gpu, 16).0;
        assert_eq!(plays, (0..2).map(|lane| trials.by_loop(lane)).collect::<Vec<_>>());
    }
}

/// A shader whose ties go to any point plays otherwise where every point stands twice.
#[test]
fn a_tie_rule_by_the_highest_index_is_noticed() {
    let Some(gpu) = open_replaced("trial", "< index)", "> index)", None).filter(|gpu| gpu.shared().has_f64) else { return };
    let mut draws = CaseDraws(63);
    let basis = Basis::Table(doubled(&TestBasis::smooth(&mut draws, 300)));
    let trials = Trials::new(&mut draws, &basis, 1e-2, 2.0, 1, 40);
    assert_ne!(trials.by_device(&gpu, 16).0[0].actions, trials.by_loop(0).actions);
}
