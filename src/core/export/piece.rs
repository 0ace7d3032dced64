//! One piece of an import, and the screening of its texts.

use std::io;

use super::read::{ImportRecord, ItemRecord};
use crate::input::Invalid;
use crate::memories::NewItem;
use crate::redaction::{RedactionError, ScreenedField, SecretWarning, fields_of};

/// Where an entry of a file is, and what of it was changed while it was read.
#[derive(Clone, Debug, Default)]
pub struct EntryPlace {
    /// Such as "Line 3".
    pub name: String,
    pub changes: Vec<String>,
}

impl EntryPlace {
    pub fn of(name: String) -> Self {
        Self { name, changes: Vec::new() }
    }
}

/// One piece of an import.
pub(super) struct FilePiece {
    pub place: EntryPlace,
    /// Bytes of the file read so far.
    pub bytes: u64,
    /// Bytes read or unpacked so far.
    pub cost: u64,
    pub record: Result<ImportRecord, Invalid>,
}

/// Screens texts, and waits for it.
pub(super) type Screening<'a> =
    &'a mut dyn FnMut(&mut [ScreenedField<'_>]) -> Result<Vec<SecretWarning>, RedactionError>;

/// Screens the texts of a record that is no line. What is replaced in it is told.
pub(super) fn screened(
    record: ImportRecord,
    place: &mut EntryPlace,
    screen: Screening<'_>,
) -> io::Result<Result<ImportRecord, Invalid>> {
    let mut replaced = |fields: &mut [ScreenedField<'_>]| match screen(fields) {
        Err(RedactionError::Invalid(invalid)) => Ok(Err(invalid)),
        Err(error) => Err(io::Error::other(error)),
        Ok(warnings) => {
            if warnings.iter().any(|warning| warning.removed) {
                place.changes.push("A secret in it was replaced.".to_owned());
            }
            Ok(Ok(()))
        }
    };
    Ok(match record {
        ImportRecord::Item(item) => {
            screened_item(*item, &mut replaced)?.map(|item| ImportRecord::Item(Box::new(item)))
        }
        ImportRecord::Note(mut note) => {
            let field = ScreenedField::new("content", &mut note.content);
            replaced(&mut [field])?.map(|()| ImportRecord::Note(note))
        }
        ImportRecord::Entity(mut line, entity_type) => {
            let mut fields = vec![ScreenedField::new("name", &mut line.name)];
            fields.extend(line.names.iter_mut().map(|name| ScreenedField::new("names", name)));
            replaced(&mut fields)?.map(|()| ImportRecord::Entity(line, entity_type))
        }
        ImportRecord::Relation(mut line) => {
            let sentences = line.sources.iter_mut().flat_map(|source| &mut source.sentence);
            let fields = line.words.iter_mut().chain(&mut line.value).chain(sentences);
            let mut fields: Vec<_> = fields.map(|text| ScreenedField::new("value", text)).collect();
            replaced(&mut fields)?.map(|()| ImportRecord::Relation(line))
        }
        other => Ok(other),
    })
}

type Replacing<'a> = &'a mut dyn FnMut(&mut [ScreenedField<'_>]) -> io::Result<Result<(), Invalid>>;

fn screened_item(
    item: ItemRecord,
    replaced: Replacing<'_>,
) -> io::Result<Result<ItemRecord, Invalid>> {
    let mut content = item.item.content().to_owned();
    let mut tags = item.item.tags().to_vec();
    let mut attributes = item.attributes.clone();
    let mut fields = vec![ScreenedField::new("content", &mut content)];
    fields.extend(tags.iter_mut().map(|tag| ScreenedField::new("tags", tag)));
    fields.extend(fields_of(&mut attributes, &[]));
    if let Err(invalid) = replaced(&mut fields)? {
        return Ok(Err(invalid));
    }
    let theme = Some(item.item.theme_display_name());
    let parsed = NewItem::parse(item.item.item_type(), &content, theme, &tags);
    Ok(parsed.map(|parsed| ItemRecord { item: parsed, attributes, ..item }))
}
