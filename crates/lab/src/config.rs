//! Fills a server's template in for one start: the chosen parts, and the value of each placeholder.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use dnsdyno_servers::server_of_process;
use dnsdyno_servers::tuning::with_value;

use crate::options::ZoneContent;
use crate::port::Port;
use crate::{LabError, ServerOptions, ServerSpec, template};

/// A text of the template with the chosen parts in their places; places of parts not chosen are empty.
pub(crate) fn with_parts(spec: &ServerSpec, options: &ServerOptions, text: &str) -> Result<String, LabError> {
    let parts = &spec.template.parts;
    if options.hierarchy.is_some() && !parts.contains_key("hierarchy") {
        return Err(LabError::NoHierarchy { server: spec.name().to_owned() });
    }
    if options.stub.is_some() && !parts.contains_key("stub") {
        return Err(LabError::NoStub { server: spec.name().to_owned() });
    }
    if let Some(unknown) = options.parts.iter().find(|name| !parts.contains_key(*name)) {
        return Err(LabError::UnknownValue {
            server: spec.name().to_owned(),
            name: unknown.clone(),
            known: parts.keys().cloned().collect(),
        });
    }
    let source = match (&options.hierarchy, options.stub) {
        (Some(_), _) => "hierarchy",
        (None, Some(_)) => "stub",
        (None, None) => "zone",
    };
    let has_anchor = options.hierarchy.as_ref().is_some_and(|hierarchy| hierarchy.anchor.is_some());
    let anchor = if has_anchor { "anchor" } else { "no_anchor" };
    let family = if options.address.is_ipv4() { "ipv4" } else { "ipv6" };
    let asked = options.parts.iter().map(String::as_str);
    let chosen: Vec<_> = asked.chain([source, anchor, family]).filter_map(|name| parts.get(name)).collect();

    let filled = template::fill(text, |place| {
        if parts.values().any(|part| part.contains_key(place)) {
            Some(chosen.iter().filter_map(|part| part.get(place)).cloned().collect::<Vec<_>>().join("\n"))
        } else {
            Some(format!("{{{place}}}"))
        }
    });
    filled.map_err(|placeholder| LabError::UnknownPlaceholder { server: spec.name().to_owned(), placeholder })
}

/// The value of each placeholder: the template's defaults, the caller's values, and those of this start.
pub(crate) fn values(
    spec: &ServerSpec,
    options: &ServerOptions,
    folder: &Path,
    ports: &BTreeMap<String, Port>,
) -> Result<BTreeMap<String, String>, LabError> {
    let mut values = spec.template.defaults.clone();
    for (name, value) in &options.values {
        if values.insert(name.clone(), value.clone()).is_none() {
            return Err(LabError::UnknownValue {
                server: spec.name().to_owned(),
                name: name.clone(),
                known: spec.template.defaults.keys().cloned().collect(),
            });
        }
    }
    let zone_file = match &options.zone.content {
        ZoneContent::Text(_) => folder.join(ZONE_FILE),
        ZoneContent::File(path) => path.clone(),
    };
    let path = |path: &Path| path.display().to_string();
    values.extend(ports.iter().map(|(name, port)| (name.clone(), port.number().to_string())));
    values.extend(
        [
            ("dir", path(folder)),
            ("config_file", path(&folder.join(CONFIG_FILE))),
            ("log_file", path(&folder.join(LOG_FILE))),
            ("zone_file", path(&zone_file)),
            ("origin", options.zone.origin()),
            ("address", options.address.to_string()),
            ("threads", options.threads.max(1).to_string()),
            ("receive_buffer_bytes", options.receive_buffer_bytes.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(stub) = options.stub {
        values.insert("stub_address".to_owned(), stub.ip().to_string());
        values.insert("stub_port".to_owned(), stub.port().to_string());
    }
    if let Some(hierarchy) = &options.hierarchy {
        values.insert("hints_file".to_owned(), path(&hierarchy.hints));
        if let Some(anchor) = &hierarchy.anchor {
            values.insert("anchor_file".to_owned(), path(anchor));
            let (parameters, digest) = trust_anchor(anchor)?;
            values.insert("anchor_parameters".to_owned(), parameters);
            values.insert("anchor_digest".to_owned(), digest);
        }
    }
    Ok(values)
}

/// Key tag, algorithm and type of digest of the first DS record of a file, and its digest.
fn trust_anchor(path: &Path) -> Result<(String, String), LabError> {
    let failed = || format!("read a DS record from {}", path.display());
    let text = fs::read_to_string(path).map_err(LabError::io(failed()))?;
    let ds = text.lines().find_map(|line| line.split_once(" DS ").map(|(_, data)| data));
    let words: Vec<&str> = ds.unwrap_or_default().split_whitespace().collect();
    match words.as_slice() {
        [tag, algorithm, kind, digest @ ..] if !digest.is_empty() => {
            Ok((format!("{tag} {algorithm} {kind}"), digest.concat()))
        }
        _ => Err(LabError::io(failed())(io::ErrorKind::InvalidData.into())),
    }
}

/// The configuration with these parameters set.
pub(crate) fn with_settings(
    spec: &ServerSpec,
    config: String,
    settings: &BTreeMap<String, String>,
) -> Result<String, LabError> {
    let failed = |reason: String| LabError::Setting { server: spec.name().to_owned(), reason };
    if settings.is_empty() {
        return Ok(config);
    }
    let program = Path::new(spec.program_name()).file_name().unwrap_or_default().to_string_lossy();
    let server = server_of_process(&program)
        .ok_or_else(|| failed(format!("`{program}` is not in the catalogue of servers: use `values`")))?;
    settings.iter().try_fold(config, |config, (name, value)| {
        with_value(server, &config, name, value).map_err(|error| failed(error.to_string()))
    })
}

/// The files of a server, in its folder.
pub(crate) const CONFIG_FILE: &str = "server.conf";
pub(crate) const ZONE_FILE: &str = "zone";
pub(crate) const LOG_FILE: &str = "server.log";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hierarchy;

    fn from_root(name: &str, anchor: Option<&Path>) -> Result<String, LabError> {
        let hierarchy = Hierarchy { hints: "/box/hints".into(), anchor: anchor.map(Path::to_owned) };
        let options = ServerOptions { hierarchy: Some(hierarchy), ..ServerOptions::default() };
        let spec = ServerSpec::named(name)?;
        let text = [&spec.template.command.join("\n"), &spec.template.config].map(String::as_str).join("\n");
        let text = with_parts(&spec, &options, &text)?;
        let ports = BTreeMap::new();
        let values = values(&spec, &options, Path::new("/here"), &ports)?;
        let value = |name: &str| Some(values.get(name).cloned().unwrap_or_else(|| format!("<{name}>")));
        Ok(template::fill(&text, value).expect("each placeholder has a value"))
    }

    #[test]
    fn a_resolver_has_the_hints_and_validates_where_there_is_an_anchor() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), ". 86400 IN DS 7 13 2 AB CD\n. 3600 IN DNSKEY 257 3 13 AA==\n")
            .expect("written");
        let path = file.path().display().to_string();
        let expected = [
            ("bind", "\".\" static-ds 7 13 2 \"ABCD\"".to_owned(), "dnssec-validation no"),
            ("knot-resolver", format!("add_file('{path}'"), "remove('.')"),
            ("pdns-recursor", "addTA('.', '7 13 2 ABCD')".to_owned(), "--dnssec=off"),
            ("unbound", format!("trust-anchor-file: \"{path}\""), "module-config: \"iterator\""),
        ];
        for (name, signed, unsigned) in expected {
            let with = from_root(name, Some(file.path())).expect("a configuration");
            let without = from_root(name, None).expect("a configuration");
            assert!(with.contains("/box/hints") && with.contains(&signed), "{with}");
            assert!(without.contains("/box/hints") && without.contains(unsigned), "{without}");
            assert!(!without.contains(&signed), "{without}");
        }
    }

    #[test]
    fn a_server_that_does_not_resolve_and_a_file_without_an_anchor_are_refused() {
        let told = from_root("nsd", None).expect_err("it only serves").to_string();
        assert!(told.contains("[parts.hierarchy]"), "{told}");
        let told = from_root("unbound", Some(Path::new("/dev/null"))).expect_err("no anchor").to_string();
        assert!(told.contains("DS record") && told.contains("/dev/null"), "{told}");
    }
}
