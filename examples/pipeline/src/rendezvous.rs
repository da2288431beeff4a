//! Where the stages meet: a store of values by name, over TCP. It passes NCCL's ids on, and the stages' results.
//!
//! A request is a line, `put NAME LENGTH` or `get NAME`, and the value of a `put`. A `get` waits until somebody has
//! put the value; its answer is a line with the length, and the value.

use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A value has at most so many bytes.
const LONGEST: usize = 64 << 20;
/// So long a stage tries to reach the store.
const REACHABLE: Duration = Duration::from_secs(60);

type Values = Arc<(Mutex<HashMap<String, Vec<u8>>>, Condvar)>;

/// Serves a store from threads of its own until the process ends, and returns its address.
///
/// # Errors
///
/// The address cannot be listened at.
pub fn serve(address: impl ToSocketAddrs) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address).context("the stages have no address to meet at")?;
    let own = listener.local_addr()?;
    let values = Values::default();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let values = values.clone();
            // whoever sends nonsense is left
            std::thread::spawn(move || answer(&connection, &values));
        }
    });
    Ok(own)
}

fn answer(connection: &TcpStream, (values, news): &(Mutex<HashMap<String, Vec<u8>>>, Condvar)) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut requests = BufReader::new(connection);
    let mut line = String::new();
    while requests.read_line(&mut line)? > 0 {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["put", name, length] => {
                let value = read_value(&mut requests, length)?;
                values.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), value);
                news.notify_all();
            }
            ["get", name] => {
                let held = values.lock().unwrap_or_else(PoisonError::into_inner);
                let held = news.wait_while(held, |held| !held.contains_key(name));
                let value = held.unwrap_or_else(PoisonError::into_inner).get(name).cloned().unwrap_or_default();
                write_value(connection, &format!("{}\n", value.len()), &value)?;
            }
            _ => bail!("{line:?} is no request"),
        }
        line.clear();
    }
    Ok(())
}

fn read_value(from: &mut impl Read, length: &str) -> Result<Vec<u8>> {
    let length: usize = length.trim().parse().with_context(|| format!("{length:?} is no length"))?;
    ensure!(length <= LONGEST, "a value of {length} bytes is longer than {LONGEST}");
    let mut value = vec![0; length];
    from.read_exact(&mut value)?;
    Ok(value)
}

/// Writes a line and a value as one: two writes would wait for each other's acknowledgement.
fn write_value(mut to: &TcpStream, line: &str, value: &[u8]) -> Result<()> {
    Ok(to.write_all(&[line.as_bytes(), value].concat())?)
}

/// A stage's way to the store.
#[derive(Debug)]
pub struct Store {
    connection: TcpStream,
    answers: BufReader<TcpStream>,
}

impl Store {
    /// Reaches the store, for which it waits up to a minute: the stages start in any order.
    ///
    /// # Errors
    ///
    /// Nobody serves a store there.
    pub fn reach(address: &str) -> Result<Self> {
        let begin = Instant::now();
        let connection = loop {
            match TcpStream::connect(address) {
                Ok(connection) => break connection,
                Err(error) if begin.elapsed() > REACHABLE => {
                    return Err(error).with_context(|| format!("nobody answers at {address}; stage 0 should"));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        connection.set_nodelay(true)?;
        Ok(Self { answers: BufReader::new(connection.try_clone()?), connection })
    }

    /// Returns this machine's address as the store sees it.
    ///
    /// # Errors
    ///
    /// The connection has gone.
    pub fn own_address(&self) -> Result<IpAddr> {
        Ok(self.connection.local_addr()?.ip())
    }

    /// Puts a value.
    ///
    /// # Errors
    ///
    /// The store has gone.
    pub fn put(&mut self, name: &str, value: &[u8]) -> Result<()> {
        write_value(&self.connection, &format!("put {name} {}\n", value.len()), value).context("the store has gone")
    }

    /// Waits for a value.
    ///
    /// # Errors
    ///
    /// The store has gone.
    pub fn get(&mut self, name: &str) -> Result<Vec<u8>> {
        let gone = || format!("the store has gone while {name} was waited for");
        write_value(&self.connection, &format!("get {name}\n"), &[]).with_context(gone)?;
        let mut length = String::new();
        self.answers.read_line(&mut length).with_context(gone)?;
        read_value(&mut self.answers, &length).with_context(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_arrive_whole_whoever_comes_first() {
        let address = serve("127.0.0.1:0").unwrap().to_string();
        let mut early = Store::reach(&address).unwrap();
        let waiting = std::thread::spawn(move || early.get("nccl.0").unwrap());
        let mut late = Store::reach(&address).unwrap();
        let id: Vec<u8> = (0..=255).collect();
        late.put("empty", &[]).unwrap();
        late.put("nccl.0", &id).unwrap();
        assert_eq!(waiting.join().unwrap(), id);
        assert_eq!(late.get("nccl.0").unwrap(), id);
        assert!(late.get("empty").unwrap().is_empty());
    }

    #[test]
    fn nonsense_ends_its_own_connection_alone() {
        let address = serve("127.0.0.1:0").unwrap().to_string();
        for nonsense in ["who are you\n", "put a\n", "put a -1\n", "put a 99999999999\n"] {
            let mut stranger = TcpStream::connect(&address).unwrap();
            stranger.write_all(nonsense.as_bytes()).unwrap();
            assert_eq!(stranger.read(&mut [0]).unwrap_or(0), 0, "{nonsense}");
        }
        let mut store = Store::reach(&address).unwrap();
        store.put("a", b"b").unwrap();
        assert_eq!(store.get("a").unwrap(), b"b");
    }
}
