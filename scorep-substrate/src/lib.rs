//! Score-P.
