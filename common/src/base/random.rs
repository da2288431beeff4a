//! Random numbers.

/// Returns an unpredictable number from the kernel; `None` where the kernel forbids that or would have to wait.
pub(crate) fn of_kernel() -> Option<u64> {
    let mut bytes = [0_u8; 8];
    // SAFETY: getrandom writes at most the length given.
    let written = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    (written == 8).then(|| u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same() {
        assert_ne!(of_kernel().unwrap(), of_kernel().unwrap());
    }
}
