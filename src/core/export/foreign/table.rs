//! CSV: with a header or without, between commas, semicolons, tabs or bars. A row that is broken costs only itself, also where
//! it opens a quote that nobody closes.

use csv::{Position, ReaderBuilder, StringRecord};

use super::dates::read_date;
use super::draft::Draft;
use super::entry::folded;
use super::memories::{FoundEntry, memory_of};
use super::{ForeignReader, ReadResult, WHOLE_FILE};
use crate::input::Invalid;

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Rows that are looked at to tell what is in which column.
const ROWS_LOOKED_AT: usize = 20;
/// Rows after which a broken one is read again from its next line.
const BROKEN_MAX: usize = 20;
/// More would be another kind of table.
const COLUMNS_MAX: usize = 200;
const HEADER_CHARS_MAX: usize = 40;

/// What a column is, by its header in the languages that people bring; as a field of an entry.
#[rustfmt::skip]
const HEADERS: [(&str, &[&str]); 6] = [
    ("content", &[
        "memory", "memories", "content", "text", "texts", "data", "fact", "facts", "observation", "note", "notes",
        "document", "documents", "pagecontent", "inhalt", "erinnerung", "notiz", "fakt", "texte", "contenu",
        "souvenir", "texto", "contenido", "recuerdo", "nota", "testo", "contenuto", "ricordo", "conteúdo",
        "memória", "tekst", "treść", "inhoud", "herinnering", "текст", "содержание", "память", "заметка", "metin",
        "içerik", "hafıza", "نص", "النص", "محتوى", "المحتوى", "ذاكرة", "الذاكرة", "ملاحظة", "पाठ", "सामग्री",
        "स्मृति", "内容", "內容", "文本", "记忆", "記憶", "テキスト", "メモ", "내용", "텍스트", "기억", "메모",
    ]),
    ("created_at", &[
        "createdat", "created", "date", "timestamp", "createtime", "datum", "erstellt", "erstelltam", "fecha",
        "data", "créé", "дата", "tarih", "التاريخ", "تاريخ", "दिनांक", "日期", "时间", "日付", "날짜",
    ]),
    ("updated_at", &[
        "updatedat", "updated", "modified", "geändert",
    ]),
    ("tags", &[
        "tags", "tag", "categories", "category", "labels", "kategorie", "kategorien", "schlagworte", "标签", "標籤",
        "タグ", "태그", "وسوم",
    ]),
    ("agent_id", &[
        "agentid", "agent", "app", "appname",
    ]),
    ("payload", &[
        "payload", "properties", "metadata", "cmetadata",
    ]),
];

/// What each column is; `None`: nothing that is imported.
type Columns = Vec<Option<&'static str>>;

impl ForeignReader<'_> {
    /// Whether it is a table. `is_named`: its name says so; otherwise only a header that is known tells, or rows alike.
    pub(super) fn read_table(&mut self, text: &str, is_named: bool) -> ReadResult<bool> {
        // A line with which Excel tells the delimiter.
        let told = text.lines().next().and_then(|line| line.trim().strip_prefix("sep="));
        let (text, delimiters) = match told.map(str::as_bytes) {
            Some(&[delimiter]) => {
                (text.split_once('\n').map_or("", |(_, rest)| rest), vec![delimiter])
            }
            _ => (text, DELIMITERS.to_vec()),
        };
        let first = delimiters.iter().map(|d| (*d, first_rows(text, *d)));
        let headed = first.clone().find_map(|(delimiter, rows)| {
            let columns = rows.first().and_then(header)?;
            (is_named || columns.len() > 1).then_some((delimiter, columns, true))
        });
        let bare = || {
            let widest = first.max_by_key(|(_, rows)| alike(rows))?;
            let (delimiter, rows) = (widest.0, widest.1);
            let columns = guessed(&rows);
            let is_table = is_named
                || rows.len() > 2 && alike(&rows) > 1 && columns.iter().flatten().count() > 1;
            // Among other files, a table without a header may be about anything.
            (is_table && !self.is_among_others()).then_some((delimiter, columns, false))
        };
        let Some((delimiter, columns, has_header)) = headed.or_else(bare) else {
            return Ok(false);
        };
        self.read_rows(text, delimiter, &columns, has_header)?;
        Ok(true)
    }

    fn read_rows(
        &mut self,
        text: &str,
        delimiter: u8,
        columns: &Columns,
        has_header: bool,
    ) -> ReadResult {
        if columns.iter().any(Option::is_none) {
            let unknown = columns.iter().filter(|column| column.is_none()).count();
            let sentence =
                format!("{unknown} of its {} columns are not known here: left out.", columns.len());
            self.adapt_at(self.place(WHOLE_FILE), sentence)?;
        }
        let mut rows = reader(text, delimiter);
        let (mut row, mut number, mut broken) = (StringRecord::new(), 0u64, 0);
        loop {
            let at = rows.position().clone();
            if !rows.read_record(&mut row).unwrap_or(false) {
                return Ok(());
            }
            number += 1;
            if has_header && number == 1 || row.iter().all(|field| field.trim().is_empty()) {
                continue;
            }
            let place = format!("Row {number}");
            let begins = row.position().map_or(at.byte(), Position::byte) as usize;
            let line_end = text[begins..].find('\n').map_or(text.len(), |end| begins + end + 1);
            let is_several_lines = (rows.position().byte() as usize) > line_end;
            if row.len() != columns.len() && is_several_lines && broken < BROKEN_MAX {
                broken += 1;
                self.refuse(
                    &place,
                    Invalid::new("", "invalid_row", "It opens a quote that is not closed."),
                )?;
                let mut next = Position::new();
                next.set_byte(line_end as u64).set_line(at.line() + 1);
                rows.seek_raw(std::io::SeekFrom::Start(line_end as u64), next)
                    .map_err(std::io::Error::other)?;
                continue;
            }
            self.read_row(&place, &row, columns)?;
        }
    }

    fn read_row(&mut self, place: &str, row: &StringRecord, columns: &Columns) -> ReadResult {
        let mut entry = serde_json::Map::new();
        for (name, field) in
            columns.iter().zip(row).filter_map(|(name, field)| Some((((*name)?), field.trim())))
        {
            if !field.is_empty() && !entry.contains_key(name) {
                entry.insert(name.to_owned(), field.into());
            }
        }
        let has_text = entry.contains_key("content") || entry.contains_key("payload");
        let json = serde_json::Value::Object(entry).to_string();
        let fields = super::entry::EntryFields::of(&json).filter(|_| has_text);
        let names = Default::default();
        match fields.map(|fields| memory_of(&fields, &names)) {
            Some(FoundEntry::Memory(mut draft)) => {
                if row.len() != columns.len() {
                    let sentence =
                        format!("It has {} fields instead of {}.", row.len(), columns.len());
                    Draft::change(&mut draft, sentence);
                }
                self.draft(place, *draft)
            }
            Some(FoundEntry::Left(why)) => self.skip(place, why),
            _ => self.refuse(place, Invalid::new("content", "required", "It has no text.")),
        }
    }
}

fn reader(text: &str, delimiter: u8) -> csv::Reader<std::io::Cursor<&[u8]>> {
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter).has_headers(false).flexible(true);
    builder.from_reader(std::io::Cursor::new(text.as_bytes()))
}

fn first_rows(text: &str, delimiter: u8) -> Vec<StringRecord> {
    // Cut where a line ends: the rest of a long file is not looked at.
    let cut = text.char_indices().nth(1 << 20).map_or(text.len(), |(at, _)| at);
    let rows = reader(&text[..cut], delimiter).into_records().take(ROWS_LOOKED_AT);
    rows.filter_map(Result::ok)
        .filter(|row| row.iter().any(|field| !field.trim().is_empty()))
        .collect()
}

/// The columns, if this is a header with a text.
fn header(row: &StringRecord) -> Option<Columns> {
    if row.len() > COLUMNS_MAX || row.iter().any(|name| name.chars().count() > HEADER_CHARS_MAX) {
        return None;
    }
    let of = |name: &str| {
        let name = folded(name.trim());
        // "data" is a text, or a date in languages of the Romance family beside a text.
        let known = HEADERS.iter().filter(|(_, names)| names.contains(&name.as_str()));
        known.map(|(field, _)| *field).next()
    };
    let mut columns: Columns = row.iter().map(of).collect();
    let is_text = |column: &Option<&str>| column.is_some_and(|c| c == "content" || c == "payload");
    let texts = columns.iter().filter(|column| is_text(column)).count();
    if texts > 1
        && let Some(at) = row.iter().position(|name| folded(name.trim()) == "data")
        && !columns.contains(&Some("created_at"))
    {
        columns[at] = Some("created_at");
    }
    (texts > 0).then_some(columns)
}

/// The number of columns, if most rows have the same and more than one.
fn alike(rows: &[StringRecord]) -> usize {
    let Some(width) = rows.first().map(StringRecord::len) else {
        return 0;
    };
    let same = rows.iter().filter(|row| row.len() == width).count();
    if same * 10 >= rows.len() * 9 { width } else { 0 }
}

/// Without a header: the column with the longest texts, and one of dates.
fn guessed(rows: &[StringRecord]) -> Columns {
    let width = rows.first().map_or(0, StringRecord::len).min(COLUMNS_MAX);
    let fields = |at: usize| rows.iter().filter_map(move |row| row.get(at)).map(str::trim);
    let is_date = |at: &usize| {
        let filled: Vec<&str> = fields(*at).filter(|field| !field.is_empty()).collect();
        !filled.is_empty()
            && filled.iter().filter(|field| read_date(field).is_some()).count() * 2 > filled.len()
    };
    let dates = (0..width).find(is_date);
    let longest = (0..width).filter(|at| Some(*at) != dates);
    let longest =
        longest.max_by_key(|at| fields(*at).map(|field| field.chars().count()).sum::<usize>());
    let of = |at: usize| match at {
        at if Some(at) == longest => Some("content"),
        at if Some(at) == dates => Some("created_at"),
        _ => None,
    };
    (0..width).map(of).collect()
}
