//! The rounds of the attacked user.

use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::{Ledger, Participations};

/// Returns the participations of one user that a claim covers: all of them are attacked.
pub(super) fn covered(ledger: &Ledger) -> Participation {
    let Participations { covered, separation, .. } = ledger.threat_model.participations;
    Participation { count: covered.max(1), separation: separation.max(1) }
}

/// Returns whether the attacked user takes part in a round, from 1 on: in round 1, and again as soon as the claim lets them.
pub(super) fn takes_part(participation: Participation, round: u64) -> bool {
    let (times, since) = ((round - 1) / participation.separation, (round - 1) % participation.separation);
    since == 0 && times < participation.count
}

/// Names the attacked user's rounds.
pub(super) fn rounds_of(participation: Participation) -> String {
    match participation {
        Participation { count: 1, .. } => "round 1".to_owned(),
        Participation { count, separation } => format!("{count} rounds, {separation} apart,"),
    }
}
