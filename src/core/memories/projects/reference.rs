//! What a caller says of a project: its name, its repository or its folder, in a normal form. Addresses of one repository by
//! ssh and by https are one; accounts and passwords in them are dropped.

use serde_json::Value;

use crate::db::labels;
use crate::input::{Invalid, check_text};
use crate::memories::provenance::slug;
use crate::redaction::ScreenedField;

pub const NAME_CHARS_MAX: usize = 100;
/// Of a repository's address, or of a folder.
pub const PLACE_CHARS_MAX: usize = 1_000;

/// Folders in which many projects, or none, are worked on: without a repository they name no project. `*`: one segment.
const NOBODYS: [&str; 8] =
    ["", "~", "/root", "/home/*", "/Users/*", "c:", "c:/users/*", "/github/workspace"];
/// Likewise, with all that is below.
const PASSING: [&str; 5] =
    ["/tmp", "/var/tmp", "/private/tmp", "/private/var/folders", "/var/folders"];

/// By what a project is found: at least one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProjectRef {
    /// As it is told.
    name: Option<String>,
    /// `host/path` in lower case, and the last segment as it was written.
    repository: Option<(String, String)>,
    folder: Option<String>,
}

labels! {
    /// One of the columns of `project_aliases`.
    pub enum AliasKind {
        Name = "name",
        Repository = "repository",
        Folder = "folder",
    }
}

impl ProjectRef {
    /// From one text: a name, the address of a repository, or an absolute folder. `None` if it is blank, or a folder that is
    /// no project's.
    ///
    /// # Errors
    /// [`Invalid`] naming `project`.
    pub fn parse(text: &str) -> Result<Option<Self>, Invalid> {
        check_text("project", text, PLACE_CHARS_MAX)?;
        let text = text.trim();
        let (mut name, mut repository, mut folder) = (None, None, None);
        match kind_of(text) {
            AliasKind::Name => name = Some(text),
            AliasKind::Repository => repository = Some(text),
            AliasKind::Folder => folder = Some(text),
        }
        Self::of(name, repository, folder)
    }

    /// From what a program knows of it. `None` if that names no project.
    ///
    /// # Errors
    /// [`Invalid`] naming `project`.
    pub fn of(
        name: Option<&str>,
        repository: Option<&str>,
        folder: Option<&str>,
    ) -> Result<Option<Self>, Invalid> {
        for (text, most) in
            [(name, NAME_CHARS_MAX), (repository, PLACE_CHARS_MAX), (folder, PLACE_CHARS_MAX)]
        {
            check_text("project", text.unwrap_or_default(), most)?;
        }
        let name = name.map(one_line).filter(|name| !name.is_empty());
        if name.as_deref().is_some_and(|name| alias_of(name).is_empty()) {
            let sentence = "`project` has no letter or digit; give its name, the address of its repository, or its folder.";
            return Err(Invalid::new("project", "invalid_project", sentence));
        }
        let found = Self {
            name,
            repository: repository.and_then(address_of),
            folder: folder.and_then(folder_of),
        };
        Ok((found != Self::default()).then_some(found))
    }

    /// From a text, as [`Self::parse`], or from `{name, repository, folder}`.
    ///
    /// # Errors
    /// [`Invalid`] naming `project`.
    pub fn read(value: &Value) -> Result<Option<Self>, Invalid> {
        let refused = || {
            let sentence = "`project` is its name, the address of its repository or its folder, as a text, or an object of `name`, `repository` and `folder`.";
            Invalid::new("project", "invalid_project", sentence)
        };
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Self::parse(text),
            Value::Object(parts) => {
                let is_known =
                    |field: &String| ["name", "repository", "folder"].contains(&field.as_str());
                if !parts
                    .iter()
                    .all(|(field, text)| is_known(field) && (text.is_string() || text.is_null()))
                {
                    return Err(refused());
                }
                let of = |field| parts.get(field).and_then(Value::as_str);
                Self::of(of("name"), of("repository"), of("folder"))
            }
            _ => Err(refused()),
        }
    }

    /// By its name alone.
    pub fn named(name: &str) -> Self {
        Self { name: Some(one_line(name)), ..Self::default() }
    }

    /// What of it is stored, to be screened.
    pub fn fields(&mut self) -> Vec<ScreenedField<'_>> {
        let repository = self.repository.iter_mut().flat_map(|(address, last)| [address, last]);
        let all = self.name.iter_mut().chain(repository).chain(&mut self.folder);
        all.map(|text| ScreenedField::new("project", text)).collect()
    }

    pub(super) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// The aliases it is found by, the most telling first.
    pub fn aliases(&self) -> Vec<(AliasKind, String)> {
        let name = self.name.as_deref().map(|name| (AliasKind::Name, alias_of(name)));
        let repository = self.repository.as_ref();
        let repository = repository.map(|(address, _)| (AliasKind::Repository, address.clone()));
        let folder = self.folder.clone().map(|folder| (AliasKind::Folder, folder));
        name.into_iter().chain(repository).chain(folder).collect()
    }

    /// What a new project may be called, the first that is free: `app`, or `acme/app` of a repository, or `app 2`.
    pub(super) fn names(&self) -> Vec<String> {
        let of_folder = || self.folder.as_deref().and_then(|folder| folder.rsplit('/').next());
        let of_repository = self.repository.as_ref().map(|(_, last)| last.as_str());
        let of_place = of_repository.or_else(of_folder);
        let first = self.name.as_deref().or(of_place).unwrap_or_default();
        let first: String = one_line(first).chars().take(NAME_CHARS_MAX - 10).collect();
        let first = if alias_of(&first).is_empty() { "project".to_owned() } else { first };
        let owner = self.repository.as_ref().and_then(|(address, _)| address.rsplit('/').nth(1));
        let owner = owner.map(|owner| format!("{owner}/{first}"));
        let owner = owner.filter(|name| name.chars().count() <= NAME_CHARS_MAX);
        let counted = (2..100).map(|n| format!("{first} {n}"));
        std::iter::once(first.clone()).chain(owner).chain(counted).collect()
    }
}

/// The alias of a name: `Acme Billing`, `acme-billing` and `acme_billing` are one.
pub fn alias_of(name: &str) -> String {
    // In Turkish, dotted and dotless i are two; by their case alone a name is still one.
    slug(name, '-').replace('_', "-").replace("i\u{307}", "i").replace('ı', "i")
}

/// In one line, without control characters.
fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kind_of(text: &str) -> AliasKind {
    let (first, rest) = text.split_once(['/', '\\']).unwrap_or((text, ""));
    let is_drive = first.len() == 2 && first.ends_with(':');
    if text.starts_with("file://") || text.starts_with(['/', '\\', '~']) || is_drive {
        return AliasKind::Folder;
    }
    let is_host = first.contains('.') && !first.starts_with('.') && !first.contains(' ');
    let by_ssh = first.split_once('@').is_some_and(|(_, host)| host.contains(':'));
    match text.contains("://") || by_ssh || is_host && rest.contains('/') {
        true => AliasKind::Repository,
        false => AliasKind::Name,
    }
}

/// `host/path` in lower case, and the last segment as written; `None` of a local one.
fn address_of(text: &str) -> Option<(String, String)> {
    let text = text.trim().trim_end_matches('/');
    let text = text.split(['?', '#']).next()?;
    let (has_protocol, text) = match text.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => (true, rest),
        None => (false, text),
    };
    let end = text.find('/').unwrap_or(text.len());
    let text = text[..end].rfind('@').map_or(text, |at| &text[at + 1..]);
    let (host, path) = match text.find([':', '/'])? {
        at if text[at..].starts_with('/') => (&text[..at], &text[at..]),
        at if has_protocol => (&text[..at], text[at..].find('/').map(|slash| &text[at + slash..])?),
        at => (&text[..at], &text[at + 1..]),
    };
    let host = host.to_lowercase();
    let host = ["www.", "ssh.", "altssh."]
        .iter()
        .find_map(|part| host.strip_prefix(part))
        .unwrap_or(&host);
    let mut segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // What hosts put between by one of their protocols.
    segments.retain(|part| *part != "_git");
    if segments.len() > 2 && ["v3", "scm"].contains(&segments[0]) {
        segments.remove(0);
    }
    let last = segments.pop()?;
    let last = last.strip_suffix(".git").filter(|last| !last.is_empty()).unwrap_or(last);
    segments.push(last);
    if host.is_empty() || host.starts_with('.') || last.starts_with('.') {
        return None;
    }
    Some((format!("{host}/{}", segments.join("/").to_lowercase()), last.to_owned()))
}

/// An absolute folder without `.`, `..` and a slash at its end; `None` if it is relative, or no project's.
fn folder_of(text: &str) -> Option<String> {
    let text = text.trim().replace('\\', "/");
    let text = text.strip_prefix("file://").unwrap_or(&text);
    let mut segments: Vec<&str> = Vec::new();
    for part in text.split('/').skip(1) {
        match part {
            "" | "." => {}
            ".." => drop(segments.pop()),
            part => segments.push(part),
        }
    }
    let root = text.split('/').next().unwrap_or_default();
    let is_drive = root.len() == 2 && root.ends_with(':');
    if !(root.is_empty() && text.starts_with('/') || root.starts_with('~') || is_drive) {
        return None;
    }
    let folder = std::iter::once(root).chain(segments).collect::<Vec<_>>().join("/");
    // There, upper and lower case are one.
    let folder = if is_drive { folder.to_lowercase() } else { folder };
    let is_like = |like: &&str| {
        like.split('/').count() == folder.split('/').count()
            && like
                .split('/')
                .zip(folder.split('/'))
                .all(|(like, part)| like == "*" || like == part)
    };
    let is_in = |place: &&str| {
        folder.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_nobodys = NOBODYS.iter().any(is_like) || PASSING.iter().any(is_in);
    (!is_nobodys).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Vec<(AliasKind, String)>> {
        ProjectRef::parse(text).expect("valid").map(|project| project.aliases())
    }

    #[test]
    fn a_repository_is_one_by_each_protocol() {
        for address in [
            "git@github.com:Acme/App.git",
            "ssh://git@github.com/acme/app.git",
            "ssh://git@ssh.github.com:443/acme/app.git",
            "https://github.com/acme/app",
            "https://github.com/acme/app.git/",
            "https://anna:s3cret@github.com/acme/app.git?x=1",
            "git://www.github.com/acme/app",
            "github.com/acme/app",
        ] {
            let expected = vec![(AliasKind::Repository, "github.com/acme/app".to_owned())];
            assert_eq!(of(address), Some(expected), "{address}");
        }
        for (one, other) in [
            (
                "git@ssh.dev.azure.com:v3/acme/shop/web",
                "https://acme@dev.azure.com/acme/shop/_git/web",
            ),
            (
                "ssh://git@git.example.com:7999/shop/web.git",
                "https://git.example.com/scm/shop/web.git",
            ),
            ("git@gitlab.com:acme/deep/group/web.git", "https://gitlab.com/acme/deep/group/web"),
        ] {
            assert_eq!(of(one), of(other), "{one}");
        }
        assert_ne!(of("git@github.com:acme/app.git"), of("git@github.com:acme/app2.git"));
        assert_ne!(of("git@github.com:acme/app.git"), of("git@gitlab.com:acme/app.git"));
    }

    #[test]
    fn folders_have_one_form_and_some_are_nobodys() {
        for (folder, expected) in [
            ("/home/anna/app/", "/home/anna/app"),
            ("/home/anna/./x/../app", "/home/anna/app"),
            ("~/work/app", "~/work/app"),
            ("C:\\Users\\Anna\\App", "c:/users/anna/app"),
            ("file:///home/anna/app", "/home/anna/app"),
        ] {
            assert_eq!(
                of(folder),
                Some(vec![(AliasKind::Folder, expected.to_owned())]),
                "{folder}"
            );
        }
        for folder in [
            "/",
            "~",
            "/home/anna",
            "/Users/anna/",
            "C:\\",
            "C:\\Users\\Anna",
            "/root",
            "/tmp/x7",
            "",
        ] {
            assert_eq!(of(folder), None, "{folder}");
        }
        let relative = ProjectRef::of(None, None, Some("work/app"));
        assert_eq!(relative, Ok(None));
    }

    #[test]
    fn a_name_is_one_however_it_is_spelt() {
        for name in ["Acme Billing", "acme-billing", "ACME_billing", " acme  billing "] {
            assert_eq!(
                of(name),
                Some(vec![(AliasKind::Name, "acme-billing".to_owned())]),
                "{name}"
            );
        }
        for name in ["Приложение", "记账应用", "acme/app", "node.js", "C++", "a: b"] {
            let aliases = of(name).expect("a name");
            assert_eq!(aliases[0].0, AliasKind::Name, "{name}");
        }
        assert_eq!(ProjectRef::parse("!!").expect_err("no name").field, "project");
        let long = "x".repeat(101);
        assert_eq!(ProjectRef::parse(&long).expect_err("too long").code, "too_long");
    }

    #[test]
    fn a_new_project_is_named_by_its_place() {
        let names = |repository, folder| {
            let project = ProjectRef::of(None, repository, folder).expect("valid").expect("one");
            project.names()[..3].join(", ")
        };
        assert_eq!(
            names(Some("git@github.com:acme/App.git"), Some("/w/x")),
            "App, acme/App, App 2"
        );
        assert_eq!(
            names(None, Some("/home/anna/Garten Plan")),
            "Garten Plan, Garten Plan 2, Garten Plan 3"
        );
        assert_eq!(names(Some("../app.git"), Some("/srv/app")), "app, app 2, app 3");
    }
}
