//! An OTLP receiver on loopback: HTTP of its own, the protobuf that OpenTelemetry publishes. It may answer as badly as one wants.

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As the standard says.
    Accept,
    /// With that status.
    Status(u16),
    /// Taken, but for so many points.
    Refuse(i64),
    /// Read, and never answered.
    Silence,
    /// With what is no HTTP.
    Noise,
    /// Closed unread.
    HangUp,
}

/// A request that came whole.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: ExportMetricsServiceRequest,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

type Requests = Arc<Mutex<Vec<(Manner, Request)>>>;

/// Listens until it is dropped.
pub(crate) struct Receiver {
    port: u16,
    requests: Requests,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Answers each request in the manner that its number, from 0 on, asks for.
    pub(crate) fn new(manner: impl Fn(usize) -> Manner + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, over) = (Requests::default(), Arc::new(AtomicBool::new(false)));
        let (into, ended) = (requests.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            // those that wait for an answer in vain
            let mut kept = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let mut stream = stream.unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                let manner = manner(number);
                if manner != Manner::HangUp {
                    let request = read(&mut stream);
                    // what is no HTTP is answered, too
                    let answered = request.is_some() || manner == Manner::Noise;
                    into.lock().unwrap().extend(request.map(|request| (manner, request)));
                    if answered {
                        answer(&mut stream, manner);
                    }
                }
                if manner == Manner::Silence {
                    kept.push(stream);
                }
            }
        });
        Self { port, requests, over, thread: Some(thread) }
    }

    /// What OTEL_EXPORTER_OTLP_ENDPOINT is to be.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What has come, and how it was answered.
    pub(crate) fn requests(&self) -> Vec<(Manner, Request)> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let outcome = self.thread.take().map(JoinHandle::join);
        // a request that could not be understood
        assert!(std::thread::panicking() || !matches!(outcome, Some(Err(_))));
    }
}

/// `None` for what is no HTTP.
fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&length| length > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().unwrap());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    if headers.contains(&("content-encoding".into(), "gzip".into())) {
        let packed = std::mem::take(&mut body);
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut body).unwrap();
    }
    let body = ExportMetricsServiceRequest::decode(&*body).unwrap();
    Some(Request { line: line.trim_end().to_owned(), headers, body })
}

fn answer(stream: &mut TcpStream, manner: Manner) {
    let (status, rejected_data_points) = match manner {
        Manner::Accept => (200, 0),
        Manner::Refuse(points) => (200, points),
        Manner::Status(status) => (status, 0),
        Manner::Noise => return stream.write_all(b"SSH-2.0-none\r\n").unwrap(),
        Manner::Silence | Manner::HangUp => return,
    };
    let refused = ExportMetricsPartialSuccess { rejected_data_points, error_message: String::new() };
    let partial_success = (rejected_data_points > 0).then_some(refused);
    let body = ExportMetricsServiceResponse { partial_success }.encode_to_vec();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n", body.len());
    // whoever asks may be gone
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}
