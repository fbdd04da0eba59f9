//! Implements lanes that play whole rounds: one workgroup a lane, and one submission for the rounds of all.

use super::buffers::{filled, storage, uniform, upload};
use super::device::{Dispatch, GpuShared, run};
use super::functions::{self, MadeFunctions};
use super::layout;
use super::pipeline::{Pass, Pipeline};
use super::readback::{Pending, Staging, guarded};
use privateer_backend::device::{DeviceLanes, DeviceRounds, FunctionEnds, LoopDomain, MOST_VISITED, Precision, TILE};
use privateer_backend::{BackendError, LaneAnswer, LaneJob, LaneRound, MOST_ROUNDS};
use privateer_gp::posterior::REBUILD_EVERY;
use privateer_gp::score::FactorGrowth;
use privateer_gp::{FunctionValues, KernelSum};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Planes of a lane: p, mean, variance, its error, and the function.
pub const LANE_PLANES: usize = 5;

/// Numbers before the rounds of a job, numbers a round, and numbers before the factors that jobs share; words before the actions of an
/// answer.
const JOB_HEADER: usize = 9;
const ROUND_NUMBERS: usize = 2;
const SHARED_HEADER: usize = 6;
const ANSWER_HEADER: usize = 4;

/// Layout of a lane in `trial_state.wgsl`: numbers before its vectors, of a tile and of a row besides features, words before
/// those of its tiles, and most candidates.
const N_VECTORS: usize = 288;
const TILE_NUMBERS: usize = 11;
const ROW_NUMBERS: usize = 5;
const W_TILES: usize = 144;
const MOST_FOUND: usize = 64;

/// Place of the number of rounds among the sizes, in bytes.
const SIZE_OF_ROUNDS: u64 = 24;

/// How a job ends besides 0, all rounds, and 1, a round that is left to the host.
const UNBOUNDED: u32 = 2;
const PAUSED: u32 = 3;

/// Dispatches of a submission; each plays some 16 rounds.
const DISPATCHES: usize = 4;

#[derive(Debug, Clone, Copy)]
struct LaneSizes {
    at_rows: usize,
    at_factor: usize,
    at_scratch: usize,
    n_numbers: usize,
    n_words: usize,
    stride: usize,
}

impl LaneSizes {
    fn new(domain: &LoopDomain, m: usize, n_streaks: usize) -> Self {
        let (tiles, m) = (domain.n_tiles(), m.next_multiple_of(4));
        let at_rows = N_VECTORS + 3 * m + tiles * (TILE_NUMBERS + m);
        let at_factor = at_rows + n_streaks * (ROW_NUMBERS + m);
        let at_scratch = at_factor + MOST_VISITED * (MOST_VISITED + 1) / 2;
        let n_numbers = at_scratch + MOST_VISITED * MOST_FOUND;
        Self { at_rows, at_factor, at_scratch, n_numbers, n_words: W_TILES + 2 * tiles, stride: tiles * TILE }
    }
}

/// A feature table on a device, for lanes.
pub struct GpuRounds {
    shared: Arc<GpuShared>,
    domain: Arc<LoopDomain>,
    n_features: usize,
    features: wgpu::Buffer,
    constants: wgpu::Buffer,
    functions: Arc<MadeFunctions>,
}

impl GpuRounds {
    /// Stores a table of features.
    pub fn new(shared: &Arc<GpuShared>, domain: Arc<LoopDomain>) -> Result<Self, BackendError> {
        let n_features = domain.table.n_features;
        let features = filled(shared, "features by tiles", &domain.tiled_features())?;
        let constants = filled(shared, "domain", &domain.constants())?;
        Ok(Self { shared: Arc::clone(shared), domain, n_features, features, constants, functions: Arc::default() })
    }
}

impl DeviceRounds for GpuRounds {
    fn evaluate(&self, sums: &[Arc<KernelSum>]) -> Result<Vec<Option<FunctionEnds>>, BackendError> {
        functions::evaluate(&self.shared, &self.domain, &self.functions, sums)
    }

    fn lanes(&self, n_lanes: usize, n_streaks: usize) -> Result<Option<Box<dyn DeviceLanes>>, BackendError> {
        let (shared, m) = (&self.shared, self.n_features);
        let sizes = LaneSizes::new(&self.domain, m, n_streaks);
        let bytes = 8 * sizes.n_numbers.max(LANE_PLANES * sizes.stride) as u64;
        if (shared.max_groups as u64).min(shared.max_binding / bytes) < n_lanes as u64 {
            return Ok(None);
        }
        let words = [
            self.domain.n_points(),
            self.domain.n_tiles(),
            m.next_multiple_of(4),
            n_streaks,
            sizes.n_words,
            sizes.n_numbers,
            MOST_ROUNDS,
            MOST_ROUNDS,
            sizes.at_rows,
            sizes.at_factor,
            sizes.at_scratch,
            usize::try_from(REBUILD_EVERY).unwrap_or(usize::MAX),
            self.domain.most_points(),
        ]
        .map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        let of_lanes = |numbers: usize, size: usize| (n_lanes * numbers * size) as u64;
        let loop_sizes = uniform(shared, &words)?;
        let planes = storage(shared, "lane planes", of_lanes(LANE_PLANES * sizes.stride, 8))?;
        let jobs = storage(shared, "jobs", of_lanes(JOB_HEADER + SHARED_HEADER + (ROUND_NUMBERS + 1) * MOST_ROUNDS, 8))?;
        let played = storage(shared, "played", of_lanes(ANSWER_HEADER + 2 * MOST_ROUNDS, 4))?;
        let buffers = [
            (layout::LOOP_SIZES, &loop_sizes),
            (layout::LOOP_FEATURES, &self.features),
            (layout::LOOP_DOMAIN, &self.constants),
            (layout::LANE_WORDS, &storage(shared, "lane words", of_lanes(sizes.n_words, 4))?),
            (layout::LANE_NUMBERS, &storage(shared, "lane numbers", of_lanes(sizes.n_numbers, 8))?),
            (layout::LANE_PLANES, &planes),
            (layout::JOBS, &jobs),
            (layout::PLAYED, &played),
        ];
        let pass = |entry| -> Result<(Pipeline, wgpu::BindGroup), BackendError> {
            let pipeline = shared.pipeline(Pass::new("trial", entry, Precision::F64))?;
            let bound = pipeline.bind(shared, &buffers)?;
            Ok((pipeline, bound))
        };
        Ok(Some(Box::new(GpuLanes {
            shared: Arc::clone(shared),
            domain: Arc::clone(&self.domain),
            stride: sizes.stride,
            passes: [pass("begin")?, pass("play")?],
            staging: Staging::new(shared, played.size())?,
            sizes: loop_sizes,
            planes,
            jobs,
            played,
            stamp: 0,
            made: Arc::clone(&self.functions),
            functions: vec![(0, 0.0); n_lanes],
            uploaded: BTreeMap::new(),
            in_flight: None,
            bytes: (0, 0),
        })))
    }
}

/// Lanes over a feature table.
pub struct GpuLanes {
    shared: Arc<GpuShared>,
    domain: Arc<LoopDomain>,
    stride: usize,
    passes: [(Pipeline, wgpu::BindGroup); 2],
    sizes: wgpu::Buffer,
    planes: wgpu::Buffer,
    jobs: wgpu::Buffer,
    played: wgpu::Buffer,
    staging: Staging,
    stamp: u32,
    made: Arc<MadeFunctions>,
    /// The lane of which each lane reads its function, with the error of its values; and functions with both, by address.
    functions: Vec<(usize, f64)>,
    uploaded: BTreeMap<usize, (FunctionValues, (usize, f64))>,
    /// The submission under way, and its jobs.
    in_flight: Option<(Pending, wgpu::SubmissionIndex, Vec<AskedRounds>)>,
    bytes: (u64, u64),
}

/// The number of rounds of a job, and bits of those with a recommendation.
#[derive(Debug, Clone, Copy)]
struct AskedRounds {
    n_rounds: usize,
    recorded: u64,
}

impl AskedRounds {
    /// Returns the largest numbers of rounds and of recommendations of a job.
    fn most(jobs: &[Self]) -> [usize; 2] {
        let recommendations = |job: &Self| job.recorded.count_ones() as usize;
        [jobs.iter().map(|job| job.n_rounds).max(), jobs.iter().map(recommendations).max()].map(|most| most.unwrap_or(0))
    }
}

impl GpuLanes {
    /// Writes jobs in the layout of the shader; those with the same settings and factors, as trials of a cell have them, share these.
    /// Equal factors of all rounds are one.
    fn packed(&self, jobs: &[LaneJob], most: usize) -> Vec<f64> {
        let size = JOB_HEADER + ROUND_NUMBERS * most;
        let mut packed = vec![0.0; jobs.len() * size];
        let mut shared: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        for (at, job) in jobs.iter().enumerate() {
            let (function, error) = self.functions[job.lane];
            let (function, begins) = (function as f64, if job.function.is_some() { error } else { -1.0 });
            let (lane, n_rounds, stamp) = (job.lane as f64, job.rounds.len() as f64, f64::from(self.stamp));
            let [first, last] = [job.recorded & u64::from(u32::MAX), job.recorded >> 32].map(|bits| bits as f64);
            let FactorGrowth { slope, offset } = job.growth;
            let (mut factors, mut n_forced) = (Vec::new(), 0);
            for (round, packed) in job.rounds.iter().zip(packed[at * size + JOB_HEADER..].chunks_exact_mut(ROUND_NUMBERS)) {
                let of_round = match *round {
                    LaneRound::Forced { point, reward } => {
                        n_forced += 1;
                        [f64::from(self.domain.position(point)), reward]
                    }
                    LaneRound::Open { least, noise, added } => {
                        factors.push(least);
                        [noise, added]
                    }
                };
                packed.copy_from_slice(&of_round);
            }
            if factors.windows(2).all(|two| two[0].to_bits() == two[1].to_bits()) {
                factors.truncate(1);
            }
            let (low, high) = (job.clip.0.max(-f64::MAX), job.clip.1.min(f64::MAX));
            let mut own = vec![job.ridge, slope, offset, low, high, factors.len() as f64];
            own.append(&mut factors);
            let next = packed.len();
            let own_at = *shared.entry(own.iter().map(|number| number.to_bits()).collect()).or_insert(next);
            if own_at == next {
                packed.extend(own);
            }
            let header = [lane, n_rounds, stamp, begins, function, first, last, f64::from(n_forced), own_at as f64];
            packed[at * size..][..JOB_HEADER].copy_from_slice(&header);
        }
        packed
    }
}

impl DeviceLanes for GpuLanes {
    fn send(&mut self, jobs: &[LaneJob]) -> Result<(), BackendError> {
        self.stamp = self.stamp.checked_add(1).unwrap_or(1);
        let mut copies = Vec::new();
        for job in jobs {
            let Some(function) = &job.function else { continue };
            // A function that is held keeps its address.
            let key = functions::address(function);
            if !self.uploaded.contains_key(&key) {
                let offset = 8 * ((job.lane * LANE_PLANES + LANE_PLANES - 1) * self.stride) as u64;
                let made = functions::of(&self.made, function);
                let error = made.as_ref().map_or(0.0, |made| made.error);
                let bytes = if let Some(made) = made {
                    copies.push((made.values, made.offset, offset));
                    made.bytes
                } else {
                    // Nothing reads beyond the last point.
                    let tiled = &self.domain.tiled(&function.all())[..self.domain.n_points()];
                    upload(&self.shared, &self.planes, offset, bytemuck::cast_slice(tiled))?;
                    (size_of_val(tiled) as u64, 0)
                };
                self.bytes = (self.bytes.0 + bytes.0, self.bytes.1 + bytes.1);
                self.uploaded.insert(key, (function.clone(), (job.lane, error)));
            }
            self.functions[job.lane] = self.uploaded[&key].1;
        }
        let asked: Vec<AskedRounds> =
            jobs.iter().map(|job| AskedRounds { n_rounds: job.rounds.len(), recorded: job.recorded }).collect();
        let [most, recorded] = AskedRounds::most(&asked);
        upload(&self.shared, &self.sizes, SIZE_OF_ROUNDS, bytemuck::bytes_of(&[most as u32, recorded as u32]))?;
        let packed = self.packed(jobs, most);
        upload(&self.shared, &self.jobs, 0, bytemuck::cast_slice(&packed))?;
        self.bytes.0 += size_of_val(&packed[..]) as u64;
        let begins = jobs.iter().any(|job| job.function.is_some());
        let bytes = 4 * (jobs.len() * (ANSWER_HEADER + most + recorded)) as u64;
        let (pending, submission) = guarded(&self.shared, "play rounds", |device| {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
            let [begin, play]: [Dispatch<'_>; 2] =
                [&self.passes[0], &self.passes[1]].map(|(pipeline, bound)| (pipeline, bound, [jobs.len() as u32, 1]));
            for (values, from, to) in &copies {
                encoder.copy_buffer_to_buffer(values, *from, &self.planes, *to, Some(8 * self.stride as u64));
            }
            // Answers of other lengths may have left a stamp where the header of a job is now.
            encoder.clear_buffer(&self.played, 0, Some(bytes));
            run(&mut encoder, [&begin].into_iter().filter(|_| begins).chain([&play; DISPATCHES]));
            let pending = self.staging.schedule(&mut encoder, &[(&self.played, 0, bytes)]);
            (pending, self.shared.queue.submit([encoder.finish()]))
        })?;
        self.in_flight = Some((pending, submission, asked));
        self.bytes.1 += bytes;
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<LaneAnswer>, BackendError> {
        let Some((pending, submission, asked)) = self.in_flight.take() else { return Ok(Vec::new()) };
        let words: Vec<u32> = pending.wait(&self.shared, submission, bytemuck::pod_collect_to_vec)?;
        let [most, recorded] = AskedRounds::most(&asked);
        let answers = words.chunks_exact(ANSWER_HEADER + most + recorded).zip(asked);
        answers.map(|(words, asked)| self.answer(words, most, asked)).collect()
    }

    fn bytes(&self) -> (u64, u64) {
        self.bytes
    }
}

impl GpuLanes {
    /// Reads the answer to a job, of which each in the submission has at most `most` rounds.
    fn answer(&self, words: &[u32], most: usize, asked: AskedRounds) -> Result<LaneAnswer, BackendError> {
        let AskedRounds { n_rounds, recorded } = asked;
        let (header, words) = words.split_at(ANSWER_HEADER);
        let (actions, recommended) = words.split_at(most);
        let &[stamp, n_played, status, tiles] = header else { return Err(BackendError::untrusted("gave no answer")) };
        if stamp != self.stamp {
            return Err(BackendError::untrusted(format!("answered jobs {stamp} when asked for {}", self.stamp)));
        }
        if n_rounds < n_played as usize || PAUSED < status || (status == 0) != (n_rounds == n_played as usize) {
            let problem = format!("says that it played {n_played} of {n_rounds} rounds and ended with status {status}");
            return Err(BackendError::untrusted(problem));
        }
        let actions = actions[..n_played as usize].to_vec();
        let n_named = (recorded & !u64::MAX.checked_shl(n_played).unwrap_or(0)).count_ones();
        let named = recommended[..n_named as usize].iter().map(|&point| (point != u32::MAX).then_some(point));
        let recommended: Vec<Option<u32>> = named.collect();
        let mut points = actions.iter().chain(recommended.iter().flatten());
        if let Some(point) = points.find(|&&point| self.domain.n_points() <= point as usize) {
            return Err(BackendError::untrusted(format!("named point {point} of {}", self.domain.n_points())));
        }
        Ok(LaneAnswer { actions, recommended, is_unbounded: status == UNBOUNDED, is_paused: status == PAUSED, tiles })
    }
}
