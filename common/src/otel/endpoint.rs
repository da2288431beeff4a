//! Where to, and how: OpenTelemetry's standard variables. Those for metrics alone take precedence. Values are not for a person's eyes: there may be
//! credentials among them, so what is wrong is told by the variable's name.

use std::time::Duration;

/// What the variables say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// Where metrics go.
    pub(super) url: String,
    /// Headers of every request.
    pub(super) headers: Vec<(String, String)>,
    /// How long a request may take.
    pub(super) timeout: Duration,
    /// Time between two exports.
    pub(super) interval: Duration,
    /// File with the certificates to trust, in place of the usual ones.
    pub(super) certificates: Option<String>,
}

impl Endpoint {
    /// As `lookup` tells.
    ///
    /// # Errors
    /// What is wrong, without the value.
    pub(super) fn told(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let text = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        // for metrics, else for all; with the name that it was found under
        let either = |what: &str| {
            let names = [format!("OTEL_EXPORTER_OTLP_METRICS_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")];
            names.into_iter().find_map(|name| text(&name).map(|value| (name, value)))
        };
        if let Some((name, protocol)) = either("PROTOCOL")
            && protocol != "http/protobuf"
        {
            return Err(format!("{name} names another protocol than http/protobuf, which is the one that there is"));
        }
        let for_all = text("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_else(|| "http://localhost:4318".into());
        let url = text("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        let headers =
            either("HEADERS").map(|(name, value)| headers(&value).ok_or_else(|| format!("{name} is not KEY=VALUE,KEY=VALUE")));
        Ok(Self {
            url: url.unwrap_or_else(|| format!("{}/v1/metrics", for_all.trim_end_matches('/'))),
            headers: headers.transpose()?.unwrap_or_default(),
            timeout: milliseconds(either("TIMEOUT"), 10_000)?,
            interval: milliseconds(
                text("OTEL_METRIC_EXPORT_INTERVAL").map(|value| ("OTEL_METRIC_EXPORT_INTERVAL".into(), value)),
                60_000,
            )?,
            certificates: either("CERTIFICATE").map(|(_, path)| path),
        })
    }
}

fn milliseconds(told: Option<(String, String)>, default: u64) -> Result<Duration, String> {
    let Some((name, value)) = told else { return Ok(Duration::from_millis(default)) };
    let number = value.parse().ok().filter(|&number| number > 0);
    number.map(Duration::from_millis).ok_or_else(|| format!("{name} is no positive number of milliseconds"))
}

/// `KEY=VALUE,KEY=VALUE`, as W3C's baggage has it: with %XX for what is not plain.
fn headers(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((name.trim().to_owned(), plain(value.trim())?))
        })
        .collect()
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
        assert_eq!((endpoint.url.as_str(), endpoint.headers.len()), ("http://localhost:4318/v1/metrics", 0));
        assert_eq!((endpoint.timeout, endpoint.interval), (Duration::from_secs(10), Duration::from_secs(60)));
    }

    #[test]
    fn those_for_metrics_take_precedence_and_are_taken_as_they_are() {
        let all = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1/base/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "5"),
        ];
        assert_eq!(told(&all).unwrap().url, "http://a:1/base/v1/metrics");
        let metrics = [
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://b:2/"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "Authorization=Basic%20abc%3D, y = 2"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "250"),
        ];
        let endpoint = told(&[&all[..], &metrics[..]].concat()).unwrap();
        let headers = [("Authorization", "Basic abc="), ("y", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!((endpoint.url.as_str(), &endpoint.headers[..]), ("http://b:2/", &headers[..]));
        assert_eq!((endpoint.timeout.as_millis(), endpoint.interval.as_millis()), (5, 250));
    }

    #[test]
    fn what_is_wrong_is_told_without_its_value() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret=%zz"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "secret"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
        ] {
            let why = told(&[(name, value)]).unwrap_err();
            assert!(why.contains(name) && !why.contains("secret"), "{why}");
        }
    }
}
