//! Reads the `[privacy]` table: mechanism, calibration and budget.

use super::places::KeyPlaces;
use crate::env::ValueUnits;
use crate::registry::{MECHANISMS, SUMS};
use privateer_config::error::Error;
use privateer_config::params::{Args, Table, Value};
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::mechanism::OutsideEntry;
use privateer_privacy::sums::{SumsEntry, SumsNeed, privunit};
use privateer_privacy::{
    Budget, Calibration, Channel, Delta, Epsilon, MechanismEntry, Protection, Protects, Refusal, Request, RewardFacts, automatic,
    automatic_for_items, automatic_for_rewards, automatic_for_streams,
};

/// Holds a privacy request as read from a spec.
#[derive(Debug, Clone)]
pub struct PrivacyPlan {
    entry: MechanismChoice,
    /// Whether the spec leaves the mechanism to the program.
    automatic: bool,
    request: Request,
    /// Whether sums protect rewards alone; `None` leaves it to the environment.
    rewards_alone: Option<bool>,
    /// For refusals that depend on a trial's facts.
    places: KeyPlaces,
}

/// Names the mechanism, by the list that registers it.
#[derive(Debug, Clone)]
enum MechanismChoice {
    Rewards(&'static MechanismEntry),
    Outside(OutsideEntry),
    Sums(&'static SumsEntry),
}

/// Returns the names of the mechanisms that serve a policy of this kind, including `none`.
fn names(args: &Args<'_>, protection: Protection) -> Vec<&'static str> {
    match protection {
        Protection::Rewards => {
            let added = args.sink().added().of::<OutsideEntry>().map(|item| item.name);
            MECHANISMS.iter().map(|entry| entry.name).chain(added).collect()
        }
        _ => SUMS.iter().filter(|entry| serves(entry, protection)).map(|entry| entry.name).collect(),
    }
}

/// Returns whether a mechanism for sums serves a policy of this kind; `none` serves each.
fn serves(entry: &SumsEntry, protection: Protection) -> bool {
    entry.name == "none" || entry.serves == protection
}

impl PrivacyPlan {
    /// Reads the keys for a policy that needs this kind of mechanism; `None` after a mistake.
    pub fn parse(args: &Args<'_>, table: &Table, stated: bool, protection: Protection, people: Participation) -> Option<Self> {
        let mut words = vec!["auto"];
        let kinds = [Protection::Rewards, Protection::Sums, Protection::LocalSums, Protection::Batches, Protection::Answer];
        for name in kinds.into_iter().flat_map(|kind| names(args, kind)) {
            if !words.contains(&name) {
                words.push(name);
            }
        }
        let mut request = request(
            args,
            &words,
            if stated { "auto" } else { "none" },
            &RequestDocs {
                mechanism: "how rewards or sums are randomised; `auto`: policy, calibration and epsilon pick",
                epsilon: ["privacy loss of one user's reward", "none; every mechanism but `none` requires it"],
                delta: [
                    "failure probability of the claim",
                    "none; `gaussian`, `batch-gaussian`, `batch-shuffle` and all mechanisms for sums of features require it",
                ],
                ..RequestDocs::DEFAULT
            },
        );
        request.clip = clip_range(args, table);
        request.budget.participation = participation(args, &request, people);
        let rewards_alone = protected(args);
        args.finish();
        let is_automatic = request.mechanism == "auto";
        let (protects, what) = match protection {
            Protection::Rewards => (None, "single rewards"),
            Protection::Sums => (Some(Protects::JointSums), "running sums of a trusted privatizer"),
            Protection::LocalSums => (Some(Protects::LocalSums), "everybody's own noisy item"),
            Protection::Batches => (Some(Protects::Batches), "sums over batches of rewards"),
            Protection::Answer => (Some(Protects::Answer), "one chosen candidate alone"),
        };
        let name = match protects {
            Some(protects) => automatic(request.mechanism, protects, request.calibration),
            None => automatic_for_rewards(&request),
        };
        request.mechanism = name;
        let chosen = match protection {
            Protection::Rewards => {
                let own = MECHANISMS.iter().find(|entry| entry.name == name).map(MechanismChoice::Rewards);
                own.or_else(|| args.items::<OutsideEntry>(&[]).read(name, args).map(MechanismChoice::Outside))
            }
            // Without privacy, rewards arrive one by one.
            Protection::Batches | Protection::Answer if name == "none" => {
                MECHANISMS.iter().find(|entry| entry.name == name).map(MechanismChoice::Rewards)
            }
            _ => SUMS.iter().find(|entry| entry.name == name && serves(entry, protection)).map(MechanismChoice::Sums),
        };
        let Some(entry) = chosen else {
            let options: Vec<String> = names(args, protection).into_iter().map(|name| format!("`{name}`")).collect();
            args.reject_with_hint(
                "mechanism",
                format!("mechanism `{name}` does not serve this policy, which learns from {what}"),
                format!("one of `auto`, {}", options.join(", ")),
                Some("a policy may have its own: `privacy = { mechanism = \"…\" }` in its table".to_owned()),
            );
            return None;
        };
        let only = match protection {
            Protection::Sums => None,
            Protection::LocalSums if is_automatic => None,
            Protection::LocalSums => Some((false, "everybody's own item hides the point that they play too")),
            _ => Some((true, "this policy learns rewards alone, and its mechanism protects nothing else")),
        };
        if let (Some((only, why)), Some(stated)) = (only, rewards_alone)
            && stated != only
            && name != "none"
        {
            let hint = if only {
                "`jdp-gp-ucb` with a trusted server protects both"
            } else {
                "`mechanism = \"auto\"` releases everybody's reward alone, in the tight calibration at public points"
            };
            args.reject_with_hint(
                "protects",
                why,
                format!("`{}`, or no `protects`", if only { "rewards" } else { "contexts and rewards" }),
                Some(hint.to_owned()),
            );
            return None;
        }
        if name != "none" && !args.has("epsilon") {
            args.missing("epsilon", "a finite number > 0, the privacy loss of one user's reward");
            return None;
        }
        let needs_delta =
            matches!(protection, Protection::Sums | Protection::LocalSums) && !["none", privunit::ENTRY.name].contains(&name);
        if needs_delta && !args.has("delta") {
            args.missing("delta", "a number > 0 and < 1, at most one over the number of users: the noise of sums is Gaussian");
            return None;
        }
        Some(Self { entry, automatic: is_automatic, request, rewards_alone, places: KeyPlaces::of(args, table) })
    }

    /// Returns whether anything is randomised.
    pub fn is_private(&self) -> bool {
        self.request.mechanism != "none"
    }

    /// Calibrates the mechanism for rewards with these public facts.
    ///
    /// * `need` — the sums that the policy needs, where sums of features are released
    /// * `units` — those in which the clip range is stated, if not those of the rewards
    /// * `own_range` — the clip range of the problem where the spec states none
    /// * `public_points` — whether everybody knows the points that can be played
    pub fn channel(
        &self,
        (facts, public_points): (&RewardFacts, bool),
        bound_stated: bool,
        need: Option<SumsNeed>,
        units: Option<ValueUnits>,
        own_range: Option<(f64, f64)>,
    ) -> Result<Channel, Error> {
        let mut request = self.request;
        request.check_participation(facts.rounds).map_err(|refusal| self.place(refusal))?;
        if let (Some(units), Some((low, high))) = (units, request.clip) {
            let Some(range) = units.rewards(low, high) else {
                let message = format!("the clip range [{low}, {high}] has no logarithm");
                return Err(self.place(Refusal::new(
                    "clip",
                    message,
                    "two numbers above 0, as the environment has `log = true`",
                )));
            };
            request.clip = Some(range);
        }
        request.clip = request.clip.or(own_range);
        // The printed scale follows B and R; a fixed clip range beside a B that changes with the trial would keep the promise
        // in some trials and break it in others.
        let varies = !self.request.calibration.corrects()
            && self.request.mechanism == "laplace"
            && facts.noise_bound.is_some()
            && !bound_stated;
        if varies && self.request.clip.is_some() {
            let refusal = Refusal::new(
                "clip",
                "the as-printed calibration sets its noise by each trial's own B, and `clip` is the same for all",
                "no `clip`, or a stated `environment.bound`",
            );
            return Err(self.place(refusal.hint("leave `clip` out: the range is then [-(B + R), B + R] of the trial")));
        }
        match (&self.entry, need) {
            (MechanismChoice::Rewards(entry), _) => (entry.build)(&request, facts).map(Channel::Rewards),
            (MechanismChoice::Outside(entry), _) => entry.build(&request, facts).map(Channel::Rewards),
            (MechanismChoice::Sums(entry), need) => {
                let mut need = need.unwrap_or_else(|| SumsNeed::of_rewards(facts.rounds, None));
                let local = entry.serves == Protection::LocalSums;
                if (entry.serves == Protection::Sums || local && self.automatic) && entry.name != "none" {
                    // The papers protect decision sets.
                    need.rewards_alone = self.rewards_alone.unwrap_or(public_points && request.calibration.redesigns());
                }
                if need.rewards_alone && !public_points {
                    let message = "each user brings a decision set, which the sums of features tell of";
                    let refusal = Refusal::new("protects", message, "`contexts and rewards`, or no `protects`");
                    return Err(self.place(refusal.hint("an environment without `sets` has public points")));
                }
                if need.rewards_alone && local && request.calibration.redesigns() {
                    // The server computes the features of the point that it chose: a reward is all that a user has to tell.
                    request.mechanism = automatic_for_rewards(&Request { mechanism: "auto", ..request });
                    if let Some(entry) = MECHANISMS.iter().find(|entry| entry.name == request.mechanism) {
                        return (entry.build)(&request, facts).map(Channel::Rewards).map_err(|refusal| self.place(refusal));
                    }
                }
                let entry = if self.automatic { automatic_for_need(**entry, &mut request, facts, need) } else { **entry };
                (entry.build)(&request, facts, need).map(Channel::Sums)
            }
        }
        .map_err(|refusal| self.place(refusal))
    }

    fn place(&self, refusal: Refusal) -> Error {
        self.places.place(refusal)
    }
}

/// Says how the keys that every kind of `[privacy]` table shares are documented.
pub(super) struct RequestDocs {
    pub(super) mechanism: &'static str,
    pub(super) calibration: &'static str,
    /// What `epsilon` means, and what leaving it out means.
    pub(super) epsilon: [&'static str; 2],
    /// What `delta` means, and what leaving it out means.
    pub(super) delta: [&'static str; 2],
}

impl RequestDocs {
    pub(super) const DEFAULT: Self = Self {
        mechanism: "",
        calibration: "the paper to the letter, the least repair, or the least noise",
        epsilon: ["", ""],
        delta: ["failure probability of the claim", "one over the number of rounds"],
    };
}

/// Reads mechanism, calibration and budget; the only place where a spec's numbers become a budget.
/// A number out of range is reported and left out.
pub(super) fn request(args: &Args<'_>, mechanisms: &[&'static str], default: &'static str, docs: &RequestDocs) -> Request {
    let mechanism = args.word("mechanism", docs.mechanism, mechanisms, Some(default));
    let calibration = args.word("calibration", docs.calibration, &Calibration::NAMES, Some(Calibration::DEFAULT.name()));
    let calibration = calibration.parse().unwrap_or_default();
    let epsilon = args.number("epsilon", docs.epsilon[0]).above(0.0).optional(docs.epsilon[1]);
    let delta = args.number("delta", docs.delta[0]).above(0.0).below(1.0).optional(docs.delta[1]);
    let budget = Budget {
        epsilon: epsilon.and_then(|epsilon| Epsilon::try_from(epsilon).ok()),
        delta: delta.and_then(|delta| Delta::try_from(delta).ok()),
        participation: Participation::ONCE,
    };
    Request { mechanism, calibration, budget, clip: None }
}

/// Returns the mechanism for sums that `auto` stands for, where that depends on what the policy needs.
fn automatic_for_need(entry: SumsEntry, request: &mut Request, facts: &RewardFacts, need: SumsNeed) -> SumsEntry {
    if entry.serves == Protection::LocalSums {
        let entry = automatic_for_items(request, facts, need);
        request.mechanism = entry.name;
        return entry;
    }
    if entry.serves != Protection::Sums {
        return entry;
    }
    let rows = need.in_releases(request.budget.participation);
    let name = automatic_for_streams("auto", Protects::JointSums, request.calibration, rows, need.releases);
    request.mechanism = name;
    SUMS.iter().copied().find(|other| other.name == name).unwrap_or(entry)
}

/// Reads what is protected of a user: whether rewards alone; `None` where that is left to the environment.
pub(super) fn protected(args: &Args<'_>) -> Option<bool> {
    let doc = "what the budget protects of a user in a round; `auto`: rewards alone where the points are public and the tight \
               calibration releases sums or chooses everybody's own mechanism, else what the mechanism hides";
    args.choice("protects", doc, &[("auto", None), ("rewards", Some(true)), ("contexts and rewards", Some(false))], "auto")
}

/// Reads how often one user takes part; as often as the people of the population where that is not stated.
///
/// * `people` — how often people of the population take part; noise for less is refused
pub(super) fn participation(args: &Args<'_>, request: &Request, people: Participation) -> Participation {
    let doc = "rounds of one user that the budget covers together; absent: those of `population`";
    let count = args.count("participations", doc).between(1, 1_000_000).or(people.count);
    let apart = if args.has("participations") { 1 } else { people.separation };
    let separation = args.count("separation", "least distance in rounds between two of them").between(1, 1 << 40).or(apart);
    if 1 < separation && people.count == 1 && !args.has("participations") {
        args.reject("separation", "one round of a user has no distance to another", "`participations` too, or no `separation`");
    }
    let wrong = if count < people.count {
        Some(("participations", count, people.count))
    } else if 1 < people.count && people.separation < separation {
        Some(("separation", separation, people.separation))
    } else {
        None
    };
    if let Some((key, stated, found)) = wrong.filter(|_| request.mechanism != "none") {
        let message = format!("`{key}` is {stated}, and {found} for a person of the `population`");
        let fits = format!("`participations = {}` and `separation = {}`, or neither key", people.count, people.separation);
        args.reject_with_hint(key, message, fits, Some("a larger `population` returns less often".to_owned()));
    }
    Participation { count, separation }
}

pub(super) fn clip_range(args: &Args<'_>, table: &Table) -> Option<(f64, f64)> {
    match args.numbers("clip", "[lo, hi]: rewards are clipped to this range before the mechanism").as_deref() {
        None => None,
        Some(&[lo, hi]) if lo < hi => Some((lo, hi)),
        Some(found) => {
            let written = table.get("clip").map(|node| &node.value);
            // Items other than numbers were already reported.
            if let Some(value @ Value::Array(items)) = written
                && items.len() == found.len()
            {
                let message = format!("`privacy.clip` is `{}`", value.shown());
                args.reject("clip", message, "two numbers [lo, hi] with lo < hi");
            }
            None
        }
    }
}
