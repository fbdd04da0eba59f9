//! Keeps how fast the CPU and a graphics adapter played cells on this machine, and chooses between them by that alone.
//!
//! The file `privateer/rates.json` lies in the cache folder of the user. An entry is found again only by the same program, processor,
//! adapter and driver, and the same settings, cells, trials and threads. No result depends on it: a file that cannot be read
//! is ignored, with a note.

use crate::record::{hash_text, write_whole};
use privateer_config::error::Error;
use privateer_config::input::Input;
use privateer_engine::engine::Workload;
use privateer_gpu::AdapterFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A device is taken where it is measured to be this many times faster: two runs of the same work differ by up to a fifth.
pub const LEAST_GAIN: f64 = 1.2;

const FILE: Input<'static> = Input::small("file of measured rates", "what `privateer devices --for SPEC --measure` writes");

/// Seconds that cells take on one path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathRates {
    /// What is made once: tables on a device, compiled shaders.
    pub once_s: f64,
    /// What is made for each trial, such as its function.
    pub trial_s: f64,
    /// A round of a trial.
    pub round_s: f64,
}

impl PathRates {
    fn seconds(&self, work: &Workload) -> f64 {
        self.once_s + self.trial_s * work.trials as f64 + self.round_s * work.trial_rounds as f64
    }
}

/// Rates of one workload on both paths, and what was played.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorkRates {
    /// On the CPU alone.
    pub cpu: PathRates,
    /// With the device.
    pub gpu: PathRates,
    /// Trials of each cell that were played.
    pub trials: u64,
    /// Most rounds of a trial that were played.
    pub rounds: u64,
}

/// Rates of one adapter beside one processor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRates {
    /// Seconds in which the adapter was opened.
    pub open_s: f64,
    /// Rates by [`shape`].
    pub works: BTreeMap<String, WorkRates>,
}

/// The file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RatesFile {
    program: String,
    machines: BTreeMap<String, MachineRates>,
}

/// What `auto` takes, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct AutoChoice {
    /// Whether it is the device.
    pub is_device: bool,
    /// Begins with the backend's name.
    pub reason: String,
    /// Seconds of each workload on the CPU and on the device, where they are measured.
    pub seconds: Vec<Option<[f64; 2]>>,
}

/// Returns what the rates of a workload depend on, in words.
pub fn shape(work: &Workload, threads: usize) -> String {
    let Workload { n_points, columns, update_kind, settings, cells, trials, .. } = work;
    let settings = &hash_text(&settings.iter().map(String::as_str).collect::<Vec<_>>().join("\n"))[..16];
    let cells = cells.len();
    format!(
        "{n_points} points, {columns:?}, {update_kind:?}, {cells} cells, {trials} trials, {threads} threads, settings {settings}"
    )
}

/// Names the processor and an adapter with its driver.
fn machine(adapter: &AdapterFacts) -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = known.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    format!("{}; {}; {}", model.map_or(std::env::consts::ARCH, |(_, name)| name), adapter.name, adapter.driver)
}

fn program() -> String {
    format!("privateer {}", env!("CARGO_PKG_VERSION"))
}

impl RatesFile {
    /// Returns where the file lies; `None` without a home.
    pub fn path() -> Option<PathBuf> {
        let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache"))).or_else(|| folder("LOCALAPPDATA"));
        cache.map(|cache| cache.join("privateer").join("rates.json"))
    }

    /// Reads the file; a missing one is empty, and so is one of another program or form, which `note` is told.
    pub fn read(note: &dyn Fn(&str)) -> Self {
        let Some(path) = Self::path().filter(|path| path.symlink_metadata().is_ok()) else { return Self::default() };
        let parsed = FILE.read_text(&path).map_err(|why| why.to_string()).and_then(|text| Self::parse(&text));
        parsed.unwrap_or_else(|why| {
            let why = why.trim_start_matches("error: ").lines().next().unwrap_or_default();
            note(&format!("warning: the measured rates in `{}` are ignored: {why}", path.display()));
            Self::default()
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_json::from_str(text).map_err(|why| format!("not a file of rates: {why}"))?;
        if file.program == program() { Ok(file) } else { Err(format!("they are of `{}`; measure again", file.program)) }
    }

    /// Returns the rates beside this adapter, if there are any.
    pub fn of(&self, adapter: &AdapterFacts) -> Option<&MachineRates> {
        self.machines.get(&machine(adapter))
    }

    /// Adds rates beside this adapter, in place of earlier ones of the same workloads.
    pub fn add(&mut self, adapter: &AdapterFacts, rates: MachineRates) {
        self.program = program();
        let known = self.machines.entry(machine(adapter)).or_default();
        known.open_s = rates.open_s;
        known.works.extend(rates.works);
    }

    /// Writes the file whole; returns where.
    pub fn save(&self) -> Result<PathBuf, Error> {
        let path = Self::path().ok_or_else(|| Error::failed("there is no cache folder", "set XDG_CACHE_HOME to a whole path"))?;
        let text = serde_json::to_string_pretty(self).map_err(|why| Error::failed(why.to_string(), "please report this"))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| Error::io("create the folder", folder, source))?;
        }
        write_whole(&path, format!("{text}\n").as_bytes(), "write the measured rates")?;
        Ok(path)
    }
}

/// Returns why an adapter without rates is not taken.
pub fn unmeasured(adapter: &AdapterFacts, of: &str) -> String {
    format!(
        "cpu: {} is not measured for {of}; `privateer devices --for SPEC --measure`, with the options of the run, times it",
        adapter.name
    )
}

/// Chooses between the CPU and an adapter for a part of these workloads, above 0 and at most 1.
pub fn choose(
    works: &[Workload],
    (part, threads): (f64, usize),
    adapter: &AdapterFacts,
    rates: Option<&MachineRates>,
) -> AutoChoice {
    let name = &adapter.name;
    let known: Vec<Option<&WorkRates>> = works.iter().map(|work| rates?.works.get(&shape(work, threads))).collect();
    let seconds = |(work, known): (&Workload, &Option<&WorkRates>)| {
        known.map(|known| [part * known.cpu.seconds(work), part * known.gpu.seconds(work)])
    };
    let seconds: Vec<Option<[f64; 2]>> = works.iter().zip(&known).map(seconds).collect();
    let n_measured = seconds.iter().flatten().count();
    let sum = |at: usize| seconds.iter().flatten().map(|seconds| seconds[at]).sum::<f64>();
    let (cpu, gpu) = (sum(0), sum(1) + rates.map_or(0.0, |rates| rates.open_s));
    let played = known.iter().flatten().map(|known| known.rounds).min().unwrap_or(0);
    let times = format!(
        "{name} is measured to be {:.2} times as fast, by {played} rounds and more of each trial: {cpu:.2} s on the CPU, {gpu:.2} s \
         there",
        cpu / gpu
    );
    let (is_device, reason) = if works.is_empty() {
        (false, "cpu: no cell scores the points of a domain".to_owned())
    } else if !adapter.taken_by_auto {
        (false, format!("cpu: {name} is {}, which computes on the CPU", adapter.kind))
    } else if works.iter().any(|work| work.is_tuned) {
        (false, "cpu: exploration factors are tuned by pilot trials, which go to a device few at a time".to_owned())
    } else if n_measured < works.len() {
        (false, unmeasured(adapter, if n_measured == 0 { "this spec" } else { "some cells of this spec" }))
    } else if LEAST_GAIN * gpu < cpu {
        (true, format!("gpu: {times}"))
    } else {
        (false, format!("cpu: {times}; it is taken from {LEAST_GAIN} times on"))
    };
    AutoChoice { is_device, reason, seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_backend::UpdateKind;
    use privateer_engine::engine::WorkColumns;

    fn work(trials: u64, rounds: u64) -> Workload {
        let (columns, update_kind) = (WorkColumns::Features(64), UpdateKind::RankOne);
        let (settings, cells, is_tuned) = (["a".to_owned()].into(), vec![0], false);
        Workload { n_points: 1024, columns, update_kind, settings, is_tuned, cells, trials, trial_rounds: trials * rounds }
    }

    fn card(name: &str) -> AdapterFacts {
        AdapterFacts { name: name.to_owned(), kind: "discrete", taken_by_auto: true, ..AdapterFacts::default() }
    }

    /// Rates by which a card takes `gpu` of the CPU's time a round, and half a second to be opened.
    fn rates(work: &Workload, gpu: f64) -> MachineRates {
        let path = |by: f64| PathRates { once_s: 0.0, trial_s: 1e-4, round_s: 1e-6 * by };
        let rates = WorkRates { cpu: path(1.0), gpu: path(gpu), trials: 30, rounds: 22 };
        MachineRates { open_s: 0.5, works: BTreeMap::from([(shape(work, 4), rates)]) }
    }

    #[test]
    fn a_card_is_taken_where_it_is_measured_to_be_faster() {
        let (long, short) = (work(1000, 5000), work(1000, 50));
        let taken =
            |work: &Workload, gpu| choose(std::slice::from_ref(work), (1.0, 4), &card("H100"), Some(&rates(work, gpu))).is_device;
        assert!(taken(&long, 0.1) && !taken(&long, 10.0), "5 s of rounds");
        assert!(!taken(&long, 0.75), "5.1 s beside 4.35 s: less than a fifth");
        assert!(!taken(&short, 0.1), "0.15 s beside the half second that opens the card");
        // What is not measured in this form is not taken, and what is not there is not named.
        let fast = rates(&long, 0.1);
        let choice = |works: &[Workload], threads| choose(works, (1.0, threads), &card("H100"), Some(&fast));
        let tuned = Workload { is_tuned: true, ..long.clone() };
        assert!(!choice(&[tuned], 4).is_device, "pilot trials go to a device few at a time");
        assert!(
            !choose(std::slice::from_ref(&long), (1e-3, 4), &card("H100"), Some(&fast)).is_device,
            "opened for a thousandth of the work"
        );
        let more = Workload { settings: ["b".to_owned()].into(), ..long.clone() };
        for (works, threads) in [(vec![work(2000, 5000)], 4), (vec![more.clone()], 4), (vec![long.clone()], 8)] {
            let choice = choice(&works, threads);
            assert!(!choice.is_device && choice.reason.contains("not measured for this spec"), "{}", choice.reason);
            assert_eq!(choice.seconds, [None]);
        }
        let both = choice(&[long.clone(), more], 4);
        assert!(!both.is_device && both.reason.contains("some cells"), "{}", both.reason);
        assert!(both.seconds[0].is_some_and(|[cpu, gpu]| (cpu - 5.1).abs() < 1e-9 && (gpu - 0.6).abs() < 1e-9), "{both:?}");
        assert!(!choice(&[], 4).is_device);
        let software = AdapterFacts { kind: "software", taken_by_auto: false, ..card("llvmpipe") };
        assert!(
            !choose(std::slice::from_ref(&long), (1.0, 4), &software, Some(&fast)).is_device,
            "on as many threads as it likes"
        );
    }

    #[test]
    fn a_file_serves_its_own_program_processor_and_adapter() {
        let work = work(10, 10);
        let mut file = RatesFile::default();
        file.add(&card("H100"), rates(&work, 0.1));
        let text = serde_json::to_string(&file).expect("JSON");
        let read = RatesFile::parse(&text).expect("a file");
        assert_eq!(read, file);
        assert_eq!(read.of(&card("H100")), Some(&rates(&work, 0.1)));
        assert_eq!(read.of(&card("A100")), None);
        assert_eq!(read.of(&AdapterFacts { driver: "580".to_owned(), ..card("H100") }), None);
        let old = text.replace(&program(), "privateer 0.0.1");
        assert!(RatesFile::parse(&old).is_err_and(|why| why.contains("`privateer 0.0.1`; measure again")));
        for broken in ["", "{", "[]", "{}", &text[..text.len() / 2], &text.replace("1e-6", "\"fast\"")] {
            assert!(RatesFile::parse(broken).is_err() || broken == text, "{broken}");
        }
        file.add(&card("H100"), rates(&work, 7.0));
        assert_eq!(file.of(&card("H100")), Some(&rates(&work, 7.0)), "the last measurement counts");
    }
}
