//! The proxy in the environment, by the common rules: HTTP_PROXY for http://, HTTPS_PROXY for https://, ALL_PROXY if
//! these are not set, and none for a host in NO_PROXY. (By itself, ureq uses the first of the three for any URL.)

use crate::config;
use ureq::http::Uri;
use ureq::{Proxy, ProxyProtocol};

/// Returns the proxy for a URL, if there is one.
///
/// # Errors
/// Which variable cannot be used.
pub(super) fn on_the_way_to(url: &Uri) -> Result<Option<Proxy>, String> {
    let of_scheme =
        if url.scheme_str() == Some("https") { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    let told = of_scheme.into_iter().chain(["ALL_PROXY", "all_proxy"]).find_map(|name| {
        let value = config::of_environment(name).filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    });
    // only a proxy from the environment knows NO_PROXY
    let excepted = Proxy::try_from_env().is_some_and(|any| any.is_no_proxy(url));
    let Some((name, value)) = told.filter(|_| !excepted) else { return Ok(None) };
    let usable = |proxy: &Proxy| matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https);
    let proxy = Proxy::new(value.trim()).ok().filter(usable);
    proxy.map(Some).ok_or_else(|| format!("{name} is no URL of a proxy that begins with http:// or https://"))
}
