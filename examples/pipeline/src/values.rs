//! Values that every process makes alike.

/// Returns numbers between -`scale` and `scale` times the square root of 3, spread evenly, so that `scale` is their
/// standard deviation. They depend on the name and on nothing else.
pub fn spread(name: &str, numbers: usize, scale: f32) -> Vec<f32> {
    let seed = hash(name.bytes());
    let unit = scale * 3.0_f32.sqrt() / (1 << 23) as f32;
    let number = |place: u64| {
        // splitmix64 (Steele, Lea and Flood, 2014)
        let mut bits = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits >> 40) as i32 - (1 << 23)) as f32 * unit
    };
    (1..=numbers as u64).map(number).collect()
}

/// Returns the hash of bytes (FNV-1a).
pub fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
