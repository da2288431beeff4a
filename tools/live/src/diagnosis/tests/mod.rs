//! Jobs made by hand, and what holds them up.

mod causes;
mod doubts;
mod job;
mod several;
