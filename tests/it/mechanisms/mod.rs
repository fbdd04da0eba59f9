//! Laws of every mechanism that are exact or sharp enough to fail under each planted fault (`tests/planted`): clips, sizes of noise, fresh
//! draws, prices. Simulated streams have fixed seeds; tests of released noise state their false-alarm rate.

mod answers;
mod batches;
mod clips;
mod deployments;
mod draws;
mod noise;
mod parts;
mod prices;
mod samplers;
