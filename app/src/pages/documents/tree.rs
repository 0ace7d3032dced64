//! Documents as a tree of folders. The number of rows is bounded: a folder with more than the remaining room
//! is shown closed, as a link to its own page.

use crate::documents::{Document, DocumentPath};
use crate::limits::DOCUMENTS_SHOWN;

/// Folders stand before files, both by name.
#[derive(Clone, Default)]
pub struct DocumentTree {
    pub folders: Vec<DocumentFolder>,
    pub files: Vec<Document>,
    /// Files that are not shown.
    pub left_out: usize,
}

#[derive(Clone)]
pub struct DocumentFolder {
    pub path: String,
    /// In it and below.
    pub documents: usize,
    /// Empty where there are too many to show: it has a page of its own.
    pub inside: DocumentTree,
}

/// `documents` are sorted by path, all in `folder`.
pub fn tree_of(documents: &[Document], folder: Option<&DocumentPath>) -> DocumentTree {
    let above = folder.map_or(0, |folder| folder.as_str().len() + 1);
    let mut room = DOCUMENTS_SHOWN;
    branch(documents, above, &mut room)
}

/// `above`: the length in bytes of the parent folder's path.
fn branch(documents: &[Document], above: usize, room: &mut usize) -> DocumentTree {
    let mut tree = DocumentTree::default();
    // Documents of one folder are adjacent.
    for inside in documents.chunk_by(|one, other| {
        let folder = folder_in(one, above);
        folder.is_some() && folder == folder_in(other, above)
    }) {
        let Some(first) = inside.first() else {
            continue;
        };
        match folder_in(first, above) {
            Some(name) => {
                let end = above + name.len();
                tree.folders.push(DocumentFolder {
                    path: first.path.as_str()[..end].to_owned(),
                    documents: inside.len(),
                    inside: match inside.len() <= *room {
                        true => branch(inside, end + 1, room),
                        false => DocumentTree::default(),
                    },
                });
            }
            None if *room == 0 => tree.left_out += 1,
            None => {
                *room -= 1;
                tree.files.push(first.clone());
            }
        }
    }
    tree
}

/// The name of the next folder on the way to it; `None`: it is a file here.
fn folder_in(document: &Document, above: usize) -> Option<&str> {
    document.path.as_str()[above..].split_once('/').map(|(name, _)| name)
}
