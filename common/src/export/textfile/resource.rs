//! The attributes of OpenTelemetry's resource that say which job and which container a process belongs to, as labels:
//! OTEL_SERVICE_NAME, and `service.*` and `k8s.*` of OTEL_RESOURCE_ATTRIBUTES. All users may read the file, so no other
//! attribute is in it.

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, ResourceDetector, SdkProvidedResourceDetector};
use std::collections::BTreeMap;

/// Returns the labels from this process' environment.
pub(super) fn labels() -> BTreeMap<String, String> {
    let detectors: [Box<dyn ResourceDetector>; 2] =
        [Box::new(EnvResourceDetector::new()), Box::new(SdkProvidedResourceDetector)];
    of(&Resource::builder_empty().with_detectors(&detectors).build())
}

/// Names as receivers of OTLP make them. Two attributes may get one name, and only one of them counts: a label that is
/// there twice would spoil the whole file.
fn of(resource: &Resource) -> BTreeMap<String, String> {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name = |key: &str| key.chars().map(plain).collect::<String>();
    let wanted =
        resource.iter().filter(|(key, _)| ["service.", "k8s."].iter().any(|start| key.as_str().starts_with(start)));
    wanted.map(|(key, value)| (name(key.as_str()), value.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::KeyValue;

    #[test]
    fn job_and_container_have_names_that_prometheus_takes_once_each() {
        let given = ["k8s.pod.name", "k8s.pod_name", "service.name", "team", "process", ""];
        let given = given.map(|key| KeyValue::new(key, format!("value of {key}")));
        let found = of(&Resource::builder_empty().with_attributes(given).build());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["k8s_pod_name", "service_name"]);
        assert_eq!(found["service_name"], "value of service.name");
    }
}
