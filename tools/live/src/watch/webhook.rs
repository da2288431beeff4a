//! The webhook: one POST with JSON a finding, from a thread of its own. Nothing of it holds up or ends the watch.

use common::{files, own_thread};
use present::output;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;
use ureq::http::{HeaderValue, Uri};
use ureq::{Agent, Error, Proxy};

/// Variable with the secret. It is of the watcher alone, so it is no setting of the library.
pub const TOKEN: &str = "SCOREP_NCCL_WEBHOOK_TOKEN";
/// Findings that wait at most; further ones are dropped.
const QUEUE: usize = 256;
/// Largest time of a POST, with the lookup of the host's name.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest time for what waits when the watch ends.
const AT_END: Duration = Duration::from_secs(6);
/// Times before a finding is sent again, where the receiver had accepted the one before.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Largest file with a secret, bytes.
const LONGEST: u64 = 8 << 10;

/// The sender of findings.
#[derive(Debug)]
pub(super) struct Webhook {
    queue: SyncSender<String>,
    /// Says nothing; it is closed when the thread has ended.
    end: Receiver<()>,
    /// Findings so far.
    given: u64,
    /// Findings that the receiver has accepted.
    accepted: Arc<AtomicU64>,
}

/// The place of the POSTs.
struct Receiving {
    agent: Agent,
    uri: Uri,
    authorization: Option<HeaderValue>,
}

impl Webhook {
    /// Starts the thread. `token` is a file with the secret; without it, the secret is that of the environment, if
    /// there is one.
    ///
    /// # Errors
    /// In words, without the secret: the URL or the secret cannot be used, or there is no thread.
    pub(super) fn start(url: &str, token: Option<&Path>) -> Result<Self, String> {
        let receiving = Receiving::new(url, token)?;
        let (queue, inbox) = mpsc::sync_channel(QUEUE);
        let (ended, end) = mpsc::sync_channel::<()>(0);
        let accepted = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&accepted);
        let body = move || {
            let _ended = ended;
            receiving.send_all(&inbox, &count);
        };
        own_thread::spawn("webhook", body).map_err(|error| format!("--webhook: no thread: {error}"))?;
        Ok(Self { queue, end, given: 0, accepted })
    }

    /// Queues a line of JSON. A full queue drops it.
    pub(super) fn put(&mut self, line: &str) {
        self.given += 1;
        // what is dropped is counted at the end
        let _ = self.queue.try_send(line.trim_end().to_owned());
    }

    /// Waits for the queue, for a bounded time, and says how many findings did not arrive.
    pub(super) fn finish(self) {
        drop(self.queue);
        // the thread sends nothing here, it ends
        let _: Result<(), RecvTimeoutError> = self.end.recv_timeout(AT_END);
        let lost = self.given.saturating_sub(self.accepted.load(Ordering::Acquire));
        if lost > 0 {
            output::say(format_args!("--webhook: {lost} of {} findings were not accepted", self.given));
        }
    }
}

/// Checks a URL, and the secret of the environment.
///
/// # Errors
/// As `Webhook::start`.
pub fn check(url: &str) -> Result<(), String> {
    Receiving::new(url, None).map(drop)
}

impl Receiving {
    fn new(url: &str, token: Option<&Path>) -> Result<Self, String> {
        let no_url = || "--webhook: not a URL that begins with http:// or https://".to_owned();
        let uri: Uri = url.parse().map_err(|_| no_url())?;
        let authority = uri.authority().filter(|_| matches!(uri.scheme_str(), Some("http" | "https")));
        let authority = authority.ok_or_else(no_url)?;
        if authority.as_str().contains('@') {
            return Err(format!("--webhook: all users see a secret in a command line: put it into {TOKEN}"));
        }
        let config = Agent::config_builder()
            .user_agent(concat!("scorep-nccl/", env!("CARGO_PKG_VERSION")))
            .http_status_as_error(false)
            // a secret is for the receiver that was named
            .max_redirects(0)
            .max_idle_connections(0)
            .timeout_global(Some(PATIENCE))
            .proxy(proxy(&uri)?);
        Ok(Self { agent: config.build().into(), uri, authorization: authorization(token)? })
    }

    /// Sends until the queue is closed and empty.
    fn send_all(&self, inbox: &Receiver<String>, accepted: &AtomicU64) {
        let mut works = true;
        while let Ok(line) = inbox.recv() {
            let mut sent = self.send(&line);
            for pause in AGAIN.into_iter().filter(|_| works) {
                if sent.is_err() {
                    std::thread::sleep(pause);
                    sent = self.send(&line);
                }
            }
            match &sent {
                Ok(()) => {
                    accepted.fetch_add(1, Ordering::Release);
                    if !works {
                        output::say("--webhook: the receiver accepts findings again");
                    }
                }
                Err(why) if works => output::say(format_args!("--webhook: {why}; the watch goes on")),
                Err(_) => {}
            }
            works = sent.is_ok();
        }
    }

    fn send(&self, line: &str) -> Result<(), String> {
        let mut request = self.agent.post(&self.uri).content_type("application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        // the answer's body is not read: it has no meaning here, and may be endless
        let answer = request.send(line).map_err(|error| in_words(&error))?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("the receiver answers with status {}", status.as_u16())) }
    }
}

/// Returns the header's value, which no output shows.
fn authorization(token: Option<&Path>) -> Result<Option<HeaderValue>, String> {
    let (name, secret) = match token {
        Some(path) => {
            let name = format!("--webhook-token {}", path.display());
            let mut text = String::new();
            let read = files::input(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
            read.map_err(|error| format!("{name}: {error}"))?;
            (name, text)
        }
        None => match std::env::var_os(TOKEN) {
            Some(secret) => (TOKEN.to_owned(), secret.into_string().unwrap_or_default()),
            None => return Ok(None),
        },
    };
    let secret = secret.trim();
    let is_plain = !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_graphic());
    let header = HeaderValue::from_str(&format!("Bearer {secret}")).ok().filter(|_| is_plain);
    let mut header = header.ok_or_else(|| format!("{name}: not a secret of plain characters on one line"))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// Returns the proxy by the common rules: of the URL's scheme or of all, unless NO_PROXY excepts the host.
fn proxy(uri: &Uri) -> Result<Option<Proxy>, String> {
    let of_scheme =
        if uri.scheme_str() == Some("https") { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    let set = of_scheme.into_iter().chain(["ALL_PROXY", "all_proxy"]).find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    });
    // only a proxy from the environment knows NO_PROXY
    let is_excepted = Proxy::try_from_env().is_some_and(|any| any.is_no_proxy(uri));
    let Some((name, value)) = set.filter(|_| !is_excepted) else { return Ok(None) };
    let proxy = Proxy::new(value.trim()).map_err(|_| format!("--webhook: {name} is no URL of a proxy"))?;
    Ok(Some(proxy))
}

fn in_words(error: &Error) -> String {
    match error {
        Error::HostNotFound => "the host's name is not known".into(),
        Error::Timeout(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        Error::ConnectionFailed => "no connection".into(),
        Error::Io(error) => error.to_string(),
        Error::Rustls(_) | Error::Tls(_) => {
            "no TLS with the receiver: its certificate is not trusted, or it has none".into()
        }
        Error::ConnectProxyFailed(_) => "the proxy refuses".into(),
        _ => "the receiver does not speak HTTP as expected".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_secret_or_of_another_kind_is_refused_without_its_text() {
        for url in ["https://name:hidden@host/", "ftp://hidden/", "hidden", ""] {
            let said = Receiving::new(url, None).err().unwrap();
            assert!(said.starts_with("--webhook: ") && !said.contains("hidden"), "{said}");
        }
    }

    #[test]
    fn a_secret_is_one_plain_line() {
        let directory = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            let path = directory.path().join("token");
            std::fs::write(&path, text).unwrap();
            authorization(Some(&path)).map(|header| header.unwrap().to_str().unwrap().to_owned())
        };
        assert_eq!(of("abc\n").unwrap(), "Bearer abc");
        for text in ["", "\n", "a\nb", "a b"] {
            assert!(of(text).unwrap_err().contains("not a secret"), "{text:?}");
        }
    }
}
