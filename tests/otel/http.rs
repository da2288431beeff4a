//! Receivers that refuse, or speak as they should not.

use crate::job::{self, SECRET};
use crate::receiver::Receiver;
use crate::server::Manner;

#[test]
fn the_receiver_is_unwell() {
    for status in [400, 401, 404, 413, 429, 500, 503] {
        let receiver = Receiver::new([Manner::Status(status)]);
        job::check(&receiver.endpoint(), &[], &format!("status {status}"));
        assert_eq!(receiver.requests().len(), 1, "{status}: nothing is sent again");
    }
}

#[test]
fn some_points_are_refused() {
    let receiver = Receiver::new([Manner::Refuse(3)]);
    job::check(&receiver.endpoint(), &[], "refuses 3 data points");
}

/// The headers are for nobody else.
#[test]
fn a_redirection_is_not_followed() {
    let elsewhere = Receiver::good();
    let receiver = Receiver::new([Manner::Redirect(format!("{}/v1/metrics", elsewhere.endpoint()))]);
    job::check(&receiver.endpoint(), &[], "status 307");
    assert_eq!((receiver.requests().len(), elsewhere.requests().len()), (1, 0));
    assert_eq!(receiver.requests()[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
}

#[test]
fn it_is_no_receiver() {
    for manner in [Manner::Noise, Manner::EndlessHeaders] {
        let receiver = Receiver::new([manner]);
        job::check(&format!("{}/{SECRET}", receiver.endpoint()), &[], "does not speak HTTP");
    }
}

/// It has said that it took everything; what else it says is not waited for.
#[test]
fn what_follows_success_does_not_matter() {
    for manner in [Manner::EndlessBody, Manner::HalfBody] {
        let receiver = Receiver::new([manner]);
        job::check_good(&receiver.endpoint(), &[]);
    }
}
