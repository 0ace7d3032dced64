//! Documents as a tree of folders. The number of rows is bounded: a folder with more than the remaining room
//! is shown closed, as a link to its own page.

use crate::limits::DOCUMENTS_SHOWN;
use crate::view::{DocumentFolder, DocumentTree};

use crate::documents::{Document, DocumentPath};
use crate::page::Page;

impl Page {
    /// `documents` are sorted by path, all in `folder`.
    pub(crate) fn tree(
        &self,
        documents: &[Document],
        folder: Option<&DocumentPath>,
    ) -> DocumentTree {
        let above = folder.map_or(0, |folder| folder.as_str().len() + 1);
        let mut room = DOCUMENTS_SHOWN;
        self.branch(documents, above, &mut room)
    }

    /// `above`: the length in bytes of the parent folder's path.
    fn branch(&self, documents: &[Document], above: usize, room: &mut usize) -> DocumentTree {
        let mut tree = DocumentTree::default();
        let name_of =
            |document: &Document| -> Option<usize> { document.path.as_str()[above..].find('/') };
        // Documents of one folder are adjacent.
        for inside in documents.chunk_by(|one, other| {
            let (end, other_end) = (name_of(one), name_of(other));
            end.is_some()
                && end == other_end
                && one.path.as_str()[above..].get(..end.unwrap_or(0))
                    == other.path.as_str()[above..].get(..end.unwrap_or(0))
        }) {
            let Some(first) = inside.first() else {
                continue;
            };
            let path = first.path.as_str();
            match name_of(first) {
                Some(length) => {
                    let fits = inside.len() <= *room;
                    tree.folders.push(DocumentFolder {
                        name: path[above..above + length].to_owned(),
                        path: path[..above + length].to_owned(),
                        documents: inside.len(),
                        inside: match fits {
                            true => self.branch(inside, above + length + 1, room),
                            false => DocumentTree::default(),
                        },
                    });
                }
                None if *room == 0 => tree.left_out += 1,
                None => {
                    *room -= 1;
                    let row = self.document_row(first.clone(), path[above..].to_owned());
                    tree.files.push(row);
                }
            }
        }
        tree
    }
}
