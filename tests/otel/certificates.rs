//! Certificates for receivers on loopback.

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use std::path::PathBuf;
use tempfile::TempDir;

/// Files of a certificate and its key.
pub(crate) struct Certificate {
    directory: TempDir,
}

impl Certificate {
    /// Signed by itself, for that host and until that year.
    pub(crate) fn new(host: &str, year: i32) -> Self {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let made = Self { directory: tempfile::Builder::new().prefix(crate::job::SECRET).tempdir().unwrap() };
        let [certificate_file, key_file] = made.files();
        std::fs::write(certificate_file, certificate.pem()).unwrap();
        std::fs::write(key_file, key.serialize_pem()).unwrap();
        made
    }

    pub(crate) fn files(&self) -> [PathBuf; 2] {
        ["certificate.pem", "key.pem"].map(|name| self.directory.path().join(name))
    }

    /// What OTEL_EXPORTER_OTLP_CERTIFICATE is to be.
    pub(crate) fn path(&self) -> String {
        self.files()[0].to_str().unwrap().to_owned()
    }
}
