//! The endpoint by OpenTelemetry's standard variables. Variables for metrics alone take precedence. Values may contain
//! credentials and are never shown: errors name the variable only.

use crate::export::interval;
use std::time::Duration;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use ureq::tls::{PemItem, parse_pem};

/// Default time for a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The settings in the variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// The URL for metrics. It has the scheme `http` or `https`, and a host.
    pub(super) uri: Uri,
    /// Headers of every request. They must not be logged.
    pub(super) headers: HeaderMap,
    /// Whether messages are compressed.
    pub(super) gzip: bool,
    /// Largest time for a request.
    pub(super) timeout: Duration,
    /// Time between two exports.
    pub(super) interval: Duration,
    /// The variable that names a file of certificates, and the file. Its certificates are trusted in place of the usual
    /// ones.
    certificates: Option<(String, String)>,
}

impl Endpoint {
    /// Reads the variables.
    ///
    /// # Errors
    /// What is wrong, without the value.
    pub(super) fn told(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let text = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        // the variable for metrics, or else the one for all signals; with its name
        let either = |what: &str| {
            let names = [format!("OTEL_EXPORTER_OTLP_METRICS_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")];
            names.into_iter().find_map(|name| text(&name).map(|value| (name, value)))
        };
        if let Some((name, _)) = either("PROTOCOL").filter(|(_, value)| value != "http/protobuf") {
            return Err(format!("{name} names another protocol than http/protobuf; OTLP goes over HTTP alone"));
        }
        let gzip = match either("COMPRESSION") {
            None => false,
            Some((_, value)) if value == "none" => false,
            Some((_, value)) if value == "gzip" => true,
            Some((name, _)) => {
                return Err(format!("{name} names another compression than gzip and none, which there are"));
            }
        };
        Ok(Self {
            uri: uri(text("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"), text("OTEL_EXPORTER_OTLP_ENDPOINT"))?,
            headers: either("HEADERS").map_or_else(|| Ok(HeaderMap::new()), |(name, value)| headers(&name, &value))?,
            gzip,
            timeout: either("TIMEOUT").map_or(Ok(TIMEOUT), |(name, value)| interval::milliseconds(&name, &value))?,
            interval: interval::told(&lookup)?,
            certificates: either("CERTIFICATE"),
        })
    }

    /// Returns the certificates to trust (PEM) in place of those that browsers trust; `None` if no file is set.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(super) fn certificates(&self) -> Result<Option<Vec<u8>>, String> {
        let Some((name, path)) = &self.certificates else { return Ok(None) };
        let pem = std::fs::read(path).map_err(|error| format!("the file of {name} cannot be read ({error})"))?;
        if !parse_pem(&pem).any(|item| matches!(item, Ok(PemItem::Certificate(_)))) {
            return Err(format!("the file of {name} has no certificate"));
        }
        Ok(Some(pem))
    }
}

/// Makes the URL. The endpoint for metrics is used unchanged. The endpoint for all signals gets the path for metrics.
fn uri(for_metrics: Option<String>, for_all: Option<String>) -> Result<Uri, String> {
    let (name, text) = for_metrics.map_or_else(
        || {
            let for_all = for_all.as_deref().unwrap_or("http://localhost:4318");
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{}/v1/metrics", for_all.trim_end_matches('/')))
        },
        |for_metrics| ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", for_metrics),
    );
    let uri = text
        .parse::<Uri>()
        .ok()
        .filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
    uri.ok_or_else(|| format!("{name} is no URL that begins with http:// or https://"))
}

/// Parses `KEY=VALUE,KEY=VALUE` as in W3C baggage, with %XX for special characters.
fn headers(name: &str, text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let pair = pair.split_once('=').and_then(|(key, value)| Some((key.trim(), plain(value.trim())?)));
        let (key, value) = pair.ok_or_else(|| format!("{name} is not KEY=VALUE,KEY=VALUE"))?;
        let header = HeaderName::from_bytes(key.as_bytes()).ok().zip(HeaderValue::from_str(&value).ok());
        let (key, mut value) = header.ok_or_else(|| format!("{name} has what is no header of HTTP"))?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

fn plain(value: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    loop {
        rest = match rest {
            [b'%', high, low, behind @ ..] => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                behind
            }
            [byte, behind @ ..] => {
                bytes.push(*byte);
                behind
            }
            [] => return String::from_utf8(bytes).ok(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pairs: &[(&str, &str)]) -> Result<Endpoint, String> {
        Endpoint::told(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    }

    #[test]
    fn without_any_it_is_the_standards_default() {
        let endpoint = told(&[]).unwrap();
        assert_eq!(
            (endpoint.uri.to_string().as_str(), endpoint.headers.len()),
            ("http://localhost:4318/v1/metrics", 0)
        );
        assert!(!endpoint.gzip);
        assert_eq!((endpoint.timeout, endpoint.interval), (Duration::from_secs(10), Duration::from_secs(60)));
    }

    #[test]
    fn those_for_metrics_take_precedence_and_are_taken_as_they_are() {
        let all = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1/base/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "5"),
        ];
        assert_eq!(told(&all).unwrap().uri, "http://a:1/base/v1/metrics");
        let metrics = [
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://b:2/"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "Authorization=Basic%20abc%3D, y = 2"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "250"),
        ];
        let endpoint = told(&[&all[..], &metrics[..]].concat()).unwrap();
        assert_eq!(endpoint.uri, "http://b:2/");
        assert_eq!(
            (&endpoint.headers["authorization"], &endpoint.headers["y"]),
            (&"Basic abc=".parse().unwrap(), &"2".parse().unwrap())
        );
        assert!(endpoint.headers.values().all(HeaderValue::is_sensitive) && endpoint.headers.len() == 2);
        assert_eq!((endpoint.timeout.as_millis(), endpoint.interval.as_millis()), (5, 250));
    }

    #[test]
    fn grpc_is_answered_with_http() {
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        let why = told(&[grpc]).unwrap_err();
        assert!(why.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && why.contains("OTLP goes over HTTP"), "{why}");
        assert!(told(&[grpc, ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf")]).is_ok());
    }

    #[test]
    fn gzip_is_asked_for() {
        let gzip = ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
        assert!(told(&[gzip]).unwrap().gzip);
        assert!(!told(&[gzip, ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "none")]).unwrap().gzip);
    }

    #[test]
    fn what_is_wrong_is_told_without_its_value() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "secret"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret secret=1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret=%zz"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "secret"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
        ] {
            let why = told(&[(name, value)]).unwrap_err();
            assert!(why.contains(name) && !why.contains("secret"), "{why}");
        }
    }
}
