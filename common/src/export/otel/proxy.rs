//! The proxy that the environment names, as other programs take it: HTTP_PROXY for http://, HTTPS_PROXY for https://,
//! ALL_PROXY for what has none, and none for a host of NO_PROXY. (What ureq takes by itself is the first of the three
//! for either.)

use ureq::http::Uri;
use ureq::{Proxy, ProxyProtocol};

/// The proxy on the way to that URL, if there is one.
///
/// # Errors
/// Which variable cannot be used.
pub(super) fn on_the_way_to(url: &Uri) -> Result<Option<Proxy>, String> {
    let of_scheme =
        if url.scheme_str() == Some("https") { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    let told = of_scheme.into_iter().chain(["ALL_PROXY", "all_proxy"]).find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    });
    // only one from the environment knows of NO_PROXY
    let excepted = Proxy::try_from_env().is_some_and(|any| any.is_no_proxy(url));
    let Some((name, value)) = told.filter(|_| !excepted) else { return Ok(None) };
    let usable = |proxy: &Proxy| matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https);
    let proxy = Proxy::new(value.trim()).ok().filter(usable);
    proxy.map(Some).ok_or_else(|| format!("{name} is no URL of a proxy that begins with http:// or https://"))
}
