//! The receiver's process: HTTP of its own, the protobuf that OpenTelemetry publishes. It may answer as badly as one
//! wants.

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use prost::Message;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Name of the test that is the process, and of the variable with its [`Orders`].
pub(crate) const NAME: &str = "server::serve";
pub(crate) const ORDERS: &str = "SCOREP_NCCL_TEST_RECEIVER";

/// How a request is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Manner {
    /// As the standard says.
    Accept,
    /// With that status; and as if the next request were welcome in an hour.
    Status(u16),
    /// Taken, but for so many points.
    Refuse(i64),
    /// With another address to send it to.
    Redirect(String),
    /// Read, and never answered.
    Silence,
    /// A byte every now and then, for ever.
    Trickle,
    /// With headers that never end.
    EndlessHeaders,
    /// Taken, and then a body that never ends.
    EndlessBody,
    /// Closed amidst the headers of the answer.
    HalfHeaders,
    /// Taken, and closed amidst the body of the answer.
    HalfBody,
    /// With what is no HTTP.
    Noise,
    /// Closed when so many bytes of it were read.
    HangUp(usize),
    /// For a proxy: what comes and goes is handed on.
    Tunnel,
}

/// What the process is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// For each request, and from the last on for all.
    pub(crate) manners: Vec<Manner>,
    /// Files with the certificate and its key, for TLS.
    pub(crate) certificate: Option<[PathBuf; 2]>,
    /// Where to listen, 0 for a port that is free.
    pub(crate) port: u16,
    /// Number of the first request.
    pub(crate) first: usize,
    /// For the requests, a file each.
    pub(crate) directory: PathBuf,
}

/// A request that came whole, as a file has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

/// Not a test, but the process that tests start.
#[test]
#[ignore = "the receiver's process"]
fn serve() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    // a request that is not understood ends the process, which its test finds
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |about| {
        report(about);
        std::process::exit(1);
    }));
    let listener = TcpListener::bind(("127.0.0.1", orders.port)).unwrap();
    println!("port {}", listener.local_addr().unwrap().port());
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let tls = orders.certificate.as_ref().map(tls);
    std::thread::scope(|scope| {
        for (number, stream) in listener.incoming().enumerate() {
            let (orders, tls, stream) = (&orders, tls.clone(), stream.unwrap());
            let number = orders.first + number;
            scope.spawn(move || match tls {
                Some(tls) => meet(orders, number, StreamOwned::new(ServerConnection::new(tls).unwrap(), stream)),
                None => meet(orders, number, stream),
            });
        }
    });
}

fn tls([certificate, key]: &[PathBuf; 2]) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let builder = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into());
    Arc::new(
        builder
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap(),
    )
}

/// A connection, to its end.
fn meet(orders: &Orders, number: usize, mut connection: impl Connection) {
    let manner = orders.manners.get(number).or(orders.manners.last()).unwrap();
    match manner {
        Manner::HangUp(bytes) => drop(connection.read_exact(&mut vec![0; *bytes])),
        Manner::Silence => drop(std::io::copy(&mut connection, &mut std::io::sink())),
        // and what comes is read: what is not would close the connection in another way
        Manner::Noise => {
            let _ = connection.write_all(b"SSH-2.0-none\r\n");
            let _ = std::io::copy(&mut connection, &mut std::io::sink());
        }
        _ => {
            let Some(taken) = read(&mut connection) else { return };
            if let Err(error) = ExportMetricsServiceRequest::decode(&*taken.body) {
                unreadable(&error);
            }
            keep(orders, number, &taken);
            // whoever asks may be gone
            let _ = answer(&mut connection, manner, &taken.line);
        }
    }
}

#[expect(clippy::panic, reason = "the test is to fail")]
fn unreadable(error: &prost::DecodeError) {
    panic!("a request that cannot be decoded: {error}");
}

/// The whole file or none.
fn keep(orders: &Orders, number: usize, taken: &Taken) {
    let path = orders.directory.join(format!("{number:06}"));
    let part = path.with_extension("part");
    std::fs::write(&part, serde_json::to_vec(taken).unwrap()).unwrap();
    std::fs::rename(part, path).unwrap();
}

/// `None` for what is no HTTP, or not whole.
fn read(connection: &mut impl Connection) -> Option<Taken> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&length| length > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // as other collectors send
    if headers.iter().any(|(name, value)| name == "content-encoding" && value == "gzip") {
        let packed = std::mem::take(&mut body);
        GzDecoder::new(&*packed).read_to_end(&mut body).unwrap();
    }
    Some(Taken { line: line.trim_end().to_owned(), headers, body })
}

fn answer(connection: &mut impl Connection, manner: &Manner, line: &str) -> std::io::Result<()> {
    let (status, rejected_data_points) = match manner {
        Manner::Accept => (200, 0),
        Manner::Refuse(points) => (200, *points),
        Manner::Status(status) => (*status, 0),
        Manner::Redirect(address) => {
            let head = format!("HTTP/1.1 307 X\r\nlocation: {address}\r\ncontent-length: 0\r\n\r\n");
            return connection.write_all(head.as_bytes());
        }
        Manner::Trickle => return repeat(connection, b"HTTP/1.1 200 X\r\nx: ", b"x", Duration::from_millis(200)),
        Manner::EndlessHeaders => return repeat(connection, b"HTTP/1.1 200 X\r\n", b"x: y\r\n", Duration::ZERO),
        Manner::EndlessBody => return repeat(connection, b"HTTP/1.1 200 X\r\n\r\n", &[0; 4096], Duration::ZERO),
        Manner::HalfHeaders => return connection.write_all(b"HTTP/1.1 200 X\r\ncontent-"),
        Manner::HalfBody => return connection.write_all(b"HTTP/1.1 200 X\r\ncontent-length: 1000\r\n\r\nabc"),
        Manner::Tunnel => return tunnel(connection, line),
        Manner::Silence | Manner::Noise | Manner::HangUp(_) => return Ok(()),
    };
    let refused = ExportMetricsPartialSuccess { rejected_data_points, error_message: String::new() };
    let partial_success = (rejected_data_points > 0).then_some(refused);
    let body = ExportMetricsServiceResponse { partial_success }.encode_to_vec();
    let later = if status == 200 { "" } else { "retry-after: 3600\r\n" };
    let head = format!(
        "HTTP/1.1 {status} X\r\n{later}content-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(&body)
}

/// Until nobody listens.
fn repeat(connection: &mut impl Connection, first: &[u8], then: &[u8], pause: Duration) -> std::io::Result<()> {
    connection.write_all(first)?;
    loop {
        connection.write_all(then)?;
        std::thread::sleep(pause);
    }
}

/// From a client that sends a request and then waits for its answer, as ours does.
fn tunnel(connection: &mut impl Connection, line: &str) -> std::io::Result<()> {
    let mut far = TcpStream::connect(line.split(' ').nth(1).unwrap())?;
    connection.write_all(b"HTTP/1.1 200 X\r\n\r\n")?;
    let Some(Taken { line, headers, body }) = read(connection) else { return Ok(()) };
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    far.write_all(format!("{line}\r\n{headers}connection: close\r\n\r\n").as_bytes())?;
    far.write_all(&body)?;
    let mut answer = vec![0; 4096];
    let length = far.read(&mut answer)?;
    connection.write_all(&answer[..length])
}
