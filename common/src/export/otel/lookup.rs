//! Looks up the addresses of a host name on a thread of its own, since nothing ends a lookup that hangs. There is at
//! most one such thread. While it waits for its answer, exports fail without starting another.

use crate::base::own_thread;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::{Error, Timeout};

/// The answer to a lookup that takes too long.
const TOO_LATE: Error = Error::Timeout(Timeout::Resolve);

/// Looks up host names.
#[derive(Debug, Default)]
pub(super) struct HostLookup {
    /// Whether its thread is running.
    busy: Arc<AtomicBool>,
}

/// Returns the host and the port of a URL.
fn host_and_port(uri: &Uri) -> (&str, u16) {
    let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    // the brackets around an IPv6 address belong to the URL
    (uri.host().unwrap_or_default().trim_matches(['[', ']']), uri.port_u16().unwrap_or(default))
}

impl HostLookup {
    /// Returns at least one address, within `patience`.
    ///
    /// # Errors
    /// Why there is none.
    fn found(&self, (host, port): (&str, u16), patience: Duration) -> Result<Vec<SocketAddr>, Error> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        if self.busy.swap(true, Ordering::AcqRel) {
            return Err(TOO_LATE);
        }
        let (answer, inbox) = crossbeam_channel::bounded(1);
        let (host, busy) = (host.to_owned(), self.busy.clone());
        let body = move || {
            // a panic in the lookup must not stop the recording
            let found = std::panic::catch_unwind(|| (host.as_str(), port).to_socket_addrs().map(Vec::from_iter));
            busy.store(false, Ordering::Release);
            let _ = answer.send(found.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())));
        };
        if own_thread::spawn("scorep-nccl-dns", body).is_err() {
            self.busy.store(false, Ordering::Release);
            return Err(TOO_LATE);
        }
        let found = inbox.recv_timeout(patience).map_err(|_| TOO_LATE)?;
        found.ok().filter(|addresses| !addresses.is_empty()).ok_or(Error::HostNotFound)
    }
}

impl Resolver for HostLookup {
    fn resolve(&self, uri: &Uri, _config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.found(host_and_port(uri), *timeout.after)?;
        let mut addresses = self.empty();
        // it holds sixteen addresses
        found.into_iter().take(16).for_each(|address| addresses.push(address));
        Ok(addresses)
    }
}
