//! The addresses of documents: the tree of a folder, and one document at a revision.

use super::written;

pub fn document_path(id: i64) -> String {
    format!("/documents/{id}")
}

/// The tree below a folder.
pub fn folder_path(folder: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("folder", folder);
    written("/documents", query.finish())
}

/// The folder of an address of [`folder_path`].
pub fn folder_of(query: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(query.as_bytes());
    let folder = fields.find(|(name, _)| name == "folder")?.1;
    Some(folder.into_owned()).filter(|folder| !folder.is_empty())
}

/// What the address of a document says: `?revision=&as=text`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFilters {
    /// A revision, shown with what it changed; `None`: the newest.
    pub revision: Option<i32>,
    /// Not rendered, with its lines numbered.
    pub as_text: bool,
}

impl DocumentFilters {
    /// What it does not know, it passes over.
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "revision" => filters.revision = value.parse().ok().filter(|n| *n > 0),
                "as" => filters.as_text = value == "text",
                _ => {}
            }
        }
        filters
    }

    /// The page of this document with these filters.
    pub fn href(&self, id: i64) -> String {
        written(&document_path(id), self.query(self.as_text))
    }

    /// Its text as a file.
    pub fn raw_href(&self, id: i64) -> String {
        written(&format!("/documents/{id}/raw"), self.query(false))
    }

    pub fn as_text(&self) -> Self {
        Self { as_text: true, ..self.clone() }
    }

    pub fn rendered(&self) -> Self {
        Self { as_text: false, ..self.clone() }
    }

    pub fn of_revision(revision: i32) -> Self {
        Self { revision: Some(revision), as_text: false }
    }

    fn query(&self, as_text: bool) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(revision) = self.revision {
            query.append_pair("revision", &revision.to_string());
        }
        if as_text {
            query.append_pair("as", "text");
        }
        query.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written_back_unchanged() {
        let filters = DocumentFilters::from_query("revision=3&as=text");
        assert_eq!(filters.href(7), "/documents/7?revision=3&as=text");
        assert_eq!(filters.rendered().href(7), "/documents/7?revision=3");
        assert_eq!(filters.raw_href(7), "/documents/7/raw?revision=3");
        let nonsense = DocumentFilters::from_query("revision=-1&as=html&=%FF");
        assert_eq!(nonsense.href(7), "/documents/7");
        assert_eq!(folder_path("a b/ü"), "/documents?folder=a+b%2F%C3%BC");
        assert_eq!(folder_of("folder=a+b%2F%C3%BC").as_deref(), Some("a b/ü"));
        assert_eq!(folder_of("folder="), None);
    }
}
