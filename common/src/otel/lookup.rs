//! Looks up the address of a host's name on a thread of its own, since nothing ends a lookup that hangs. There is one such thread at most: as long
//! as it waits for its answer, exports fail without another.

use crate::own_thread;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::{Error, Timeout};

/// Who looks up.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    /// Whether its thread is there.
    busy: Arc<AtomicBool>,
}

impl Lookup {
    fn found(&self, host: &str, port: u16, timeout: NextTimeout) -> Result<Vec<SocketAddr>, Error> {
        if let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        if self.busy.swap(true, Ordering::AcqRel) {
            return Err(Error::Timeout(Timeout::Resolve));
        }
        let (answer, inbox) = crossbeam_channel::bounded(1);
        let (host, busy) = (host.to_owned(), self.busy.clone());
        let body = move || {
            let found = (host.as_str(), port).to_socket_addrs();
            busy.store(false, Ordering::Release);
            let _ = answer.send(found);
        };
        if own_thread::spawn("scorep-nccl-dns", body).is_err() {
            self.busy.store(false, Ordering::Release);
            return Err(Error::Timeout(Timeout::Resolve));
        }
        let found = inbox.recv_timeout(*timeout.after).map_err(|_| Error::Timeout(Timeout::Resolve))?;
        found.map(Iterator::collect).map_err(|_| Error::HostNotFound)
    }
}

impl Resolver for Lookup {
    fn resolve(&self, uri: &Uri, _config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let found = self.found(uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(default), timeout)?;
        let mut addresses = self.empty();
        // it holds sixteen
        found.into_iter().take(16).for_each(|address| addresses.push(address));
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}
