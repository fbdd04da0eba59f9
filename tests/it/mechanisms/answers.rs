//! The choice of one candidate: its law, its schedule, and what it takes in.

use super::noise::is_share;
use super::parts::{stream, sums};
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::sums::exponential;
use privateer_privacy::{Channel, Query, Raw, Signal};

/// How often the first of two candidates is chosen of `n` times, at epsilon 2 on [-1, 1], so at scale 1, by these rewards in turn.
fn firsts(rewards: &[f64], n: u64, exact: bool) -> u64 {
    let mechanism = sums(&exponential::ENTRY, 2.0, rewards.len() as u64);
    let mut stream = stream(9);
    let chosen = |_| {
        let mut privatizer = mechanism.privatizer();
        let mut release = ChannelRelease::of(&Channel::Sums(mechanism.clone())).expect("sizes");
        let mut take = |&reward: &f64| {
            let (query, reward) = (Query::default(), Raw::seal(reward));
            let exactly = |release: &mut ChannelRelease, reward| release.release(&query, reward).expect("entropy");
            if exact { exactly(&mut release, reward) } else { privatizer.release(&query, reward, (&mut stream).into()) }
                .into_value()
        };
        let mut told: Vec<Signal> = rewards.iter().map(&mut take).collect();
        // The answer is final, and later rewards are dropped.
        assert_eq!(take(&1.0), Signal::Nothing);
        let Some(Signal::Choice(at)) = told.pop() else { panic!("an answer after the last reward: {told:?}") };
        assert!(told.iter().all(|signal| *signal == Signal::Nothing), "nothing before: {told:?}");
        u64::from(at == 0)
    };
    (0..n).map(chosen).sum()
}

/// Sums of 0.5 and -0.5: odds of e.
#[test]
fn a_choice_has_its_scale() {
    let stated = 1.0 / (1.0 + (-1.0_f64).exp());
    is_share(firsts(&[0.75, -0.25, -0.75, 0.25], 20_000, false), 20_000, stated);
    is_share(firsts(&[0.75, -0.25, -0.75, 0.25], 4000, true), 4000, stated);
}

#[test]
fn rewards_are_clipped() {
    let stated = 1.0 / (1.0 + (-2.0_f64).exp());
    for exact in [false, true] {
        is_share(firsts(&[1e6, f64::MIN], 4000, exact), 4000, stated);
    }
    is_share(firsts(&[f64::NAN, f64::NEG_INFINITY], 4000, false), 4000, 1.0 / (1.0 + (-1.0_f64).exp()));
}
