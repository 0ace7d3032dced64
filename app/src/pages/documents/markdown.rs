//! Converts Markdown into a page's nodes: HTML becomes text, an image its text and address, and links may
//! only use `http`, `https` and `mailto`. The input size, the number of nodes and their depth are bounded, so
//! that no text is expensive.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use url::Url;

/// Maximum bytes of the text; the rest is not rendered.
const BYTES_MAX: usize = 256 * 1024;
const NODES_MAX: usize = 5_000;
/// Deeper nodes become text of their ancestor.
const DEPTH_MAX: usize = 16;
/// Maximum quote and list marks at the start of a line: with more, the parser would be slow, so nothing from
/// there on is rendered.
const MARKS_MAX: usize = 64;

/// What Markdown is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// From 1 to 6.
    Heading(u8, Vec<Inline>),
    Paragraph(Vec<Inline>),
    /// Of a list without blank lines.
    Words(Vec<Inline>),
    Quote(Vec<Block>),
    Code(String),
    List {
        /// Of a numbered one.
        start: Option<u64>,
        items: Vec<ListItem>,
    },
    Table {
        head: Vec<Vec<Inline>>,
        rows: Vec<Vec<Vec<Inline>>>,
    },
    Rule,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListItem {
    /// Of a task: whether it is done.
    pub done: Option<bool>,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inline {
    Text(String),
    Code(String),
    Emphasis(Vec<Inline>),
    Strong(Vec<Inline>),
    Struck(Vec<Inline>),
    /// `http`, `https` or `mailto`.
    Link {
        href: String,
        words: Vec<Inline>,
    },
    /// It is not fetched.
    Image {
        alt: String,
        address: String,
    },
    Break,
}

/// Its nodes, and whether the rest is left out.
pub fn parse(text: &str) -> (Vec<Block>, bool) {
    let (read, mut is_cut) = match text.len() > BYTES_MAX {
        true => (beginning(text), true),
        false => (text, false),
    };
    let (read, cut) = before_bomb(read);
    is_cut |= cut;
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut nodes = Nodes::new();
    for event in Parser::new_ext(read, options) {
        nodes.take(event);
        if nodes.count > NODES_MAX {
            is_cut = true;
            break;
        }
    }
    (nodes.finish(), is_cut)
}

/// The first lines within the limit.
fn beginning(text: &str) -> &str {
    let at = text.floor_char_boundary(BYTES_MAX);
    let end = text[..at].rfind('\n').map_or(at, |end| end + 1);
    &text[..end]
}

/// The text before the first line with too many nested marks, and whether there is such a line.
fn before_bomb(text: &str) -> (&str, bool) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begins = line.trim_start_matches(|c: char| {
            c.is_ascii_whitespace() || c.is_ascii_digit() || "->*+.)".contains(c)
        });
        let marks = &line[..line.len() - begins.len()];
        let words = marks.split_ascii_whitespace().filter(|word| word.len() <= 10);
        let quotes = marks.bytes().filter(|b| *b == b'>').count();
        if quotes > MARKS_MAX || words.count() > MARKS_MAX {
            return (&text[..at], true);
        }
        at += line.len();
    }
    (text, false)
}

/// The kind of an open node.
enum Open {
    Root,
    Heading(u8),
    Paragraph,
    Quote,
    Code,
    List(Option<u64>),
    Item,
    Table,
    Row,
    Cell,
    Emphasis,
    Strong,
    Struck,
    /// The address, `None` if it is not allowed, and the address as written.
    Link(Option<String>, String),
    Image(String),
}

/// An open node and its content so far.
struct Frame {
    open: Open,
    blocks: Vec<Block>,
    inlines: Vec<Inline>,
    items: Vec<ListItem>,
    cells: Vec<Vec<Inline>>,
    rows: Vec<Vec<Vec<Inline>>>,
    done: Option<bool>,
}

impl Frame {
    fn new(open: Open) -> Self {
        Self {
            open,
            blocks: Vec::new(),
            inlines: Vec::new(),
            items: Vec::new(),
            cells: Vec::new(),
            rows: Vec::new(),
            done: None,
        }
    }

    /// Turns loose text into a block.
    fn settle(&mut self) {
        if !self.inlines.is_empty() {
            let words = std::mem::take(&mut self.inlines);
            self.blocks.push(Block::Words(words));
        }
    }

    fn push_block(&mut self, block: Block) {
        self.settle();
        self.blocks.push(block);
    }

    /// True if this added a node.
    fn push_text(&mut self, text: &str) -> bool {
        if let Some(Inline::Text(before)) = self.inlines.last_mut() {
            before.push_str(text);
            return false;
        }
        self.inlines.push(Inline::Text(text.to_owned()));
        true
    }

    fn into_blocks(mut self) -> Vec<Block> {
        self.settle();
        self.blocks
    }
}

struct Nodes {
    stack: Vec<Frame>,
    /// Open nodes beyond the maximum depth.
    deeper: usize,
    count: usize,
}

impl Nodes {
    fn new() -> Self {
        Self { stack: vec![Frame::new(Open::Root)], deeper: 0, count: 0 }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::Code(text) => self.inline(Inline::Code(text.into_string())),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.inline(Inline::Break),
            Event::Rule => {
                self.count += 1;
                self.top().push_block(Block::Rule);
            }
            Event::TaskListMarker(done) => self.top().done = Some(done),
        }
    }

    fn top(&mut self) -> &mut Frame {
        if self.stack.is_empty() {
            self.stack.push(Frame::new(Open::Root));
        }
        let last = self.stack.len() - 1;
        &mut self.stack[last]
    }

    fn text(&mut self, text: &str) {
        self.count += usize::from(self.top().push_text(text));
    }

    fn inline(&mut self, inline: Inline) {
        self.count += 1;
        self.top().inlines.push(inline);
    }

    fn start(&mut self, tag: Tag<'_>) {
        if self.stack.len() > DEPTH_MAX {
            self.deeper += 1;
            // Separates the words of two blocks.
            match self.top().inlines.last() {
                None => {}
                Some(Inline::Text(text)) if text.ends_with(char::is_whitespace) => {}
                Some(_) => self.text(" "),
            }
            return;
        }
        self.count += 1;
        let open = match tag {
            Tag::Heading { level, .. } => Open::Heading(level as u8),
            Tag::BlockQuote(_) => Open::Quote,
            Tag::CodeBlock(_) | Tag::MetadataBlock(_) => Open::Code,
            Tag::List(start) => Open::List(start),
            Tag::Item => Open::Item,
            Tag::Table(_) => Open::Table,
            Tag::TableHead | Tag::TableRow => Open::Row,
            Tag::TableCell => Open::Cell,
            Tag::Emphasis | Tag::Superscript | Tag::Subscript => Open::Emphasis,
            Tag::Strong => Open::Strong,
            Tag::Strikethrough => Open::Struck,
            Tag::Link { link_type, dest_url, .. } => {
                let address = match link_type {
                    LinkType::Email => format!("mailto:{dest_url}"),
                    _ => dest_url.into_string(),
                };
                Open::Link(safe_address(&address), address)
            }
            Tag::Image { dest_url, .. } => Open::Image(dest_url.into_string()),
            Tag::Paragraph
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition => Open::Paragraph,
        };
        self.stack.push(Frame::new(open));
    }

    fn end(&mut self, _: TagEnd) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        if self.stack.len() > 1
            && let Some(frame) = self.stack.pop()
        {
            self.close(frame);
        }
    }

    fn close(&mut self, mut frame: Frame) {
        let parent = self.top();
        match std::mem::replace(&mut frame.open, Open::Root) {
            Open::Root => {}
            Open::Heading(level) => parent.push_block(Block::Heading(level, frame.inlines)),
            Open::Paragraph => parent.push_block(Block::Paragraph(frame.inlines)),
            Open::Quote => parent.push_block(Block::Quote(frame.into_blocks())),
            Open::Code => parent.push_block(Block::Code(plain(&frame.inlines))),
            Open::List(start) => {
                let mut items = std::mem::take(&mut frame.items);
                let rest = frame.into_blocks();
                if !rest.is_empty() {
                    items.push(ListItem { done: None, blocks: rest });
                }
                parent.push_block(Block::List { start, items });
            }
            Open::Item => {
                parent.items.push(ListItem { done: frame.done, blocks: frame.into_blocks() })
            }
            Open::Table => {
                if !frame.inlines.is_empty() {
                    frame.rows.push(vec![frame.inlines]);
                }
                let mut rows = frame.rows.into_iter();
                let head = rows.next().unwrap_or_default();
                parent.push_block(Block::Table { head, rows: rows.collect() });
            }
            Open::Row => {
                if !frame.inlines.is_empty() {
                    frame.cells.push(frame.inlines);
                }
                parent.rows.push(frame.cells);
            }
            Open::Cell => parent.cells.push(frame.inlines),
            Open::Emphasis => parent.inlines.push(Inline::Emphasis(frame.inlines)),
            Open::Strong => parent.inlines.push(Inline::Strong(frame.inlines)),
            Open::Struck => parent.inlines.push(Inline::Struck(frame.inlines)),
            Open::Link(Some(href), _) => {
                parent.inlines.push(Inline::Link { href, words: frame.inlines })
            }
            Open::Link(None, address) => {
                parent.inlines.extend(frame.inlines);
                parent.push_text(&format!(" ({address})"));
            }
            Open::Image(address) => {
                parent.inlines.push(Inline::Image { alt: plain(&frame.inlines), address })
            }
        }
    }

    fn finish(mut self) -> Vec<Block> {
        while self.stack.len() > 1 {
            if let Some(frame) = self.stack.pop() {
                self.close(frame);
            }
        }
        self.stack.pop().map(Frame::into_blocks).unwrap_or_default()
    }
}

fn plain(inlines: &[Inline]) -> String {
    let mut text = String::new();
    for inline in inlines {
        match inline {
            Inline::Text(words) | Inline::Code(words) => text.push_str(words),
            Inline::Emphasis(inside) | Inline::Strong(inside) | Inline::Struck(inside) => {
                text.push_str(&plain(inside));
            }
            Inline::Link { words, .. } => text.push_str(&plain(words)),
            Inline::Image { alt, .. } => text.push_str(alt),
            Inline::Break => text.push('\n'),
        }
    }
    text
}

/// Parsed as browsers do, which ignore tabs and line breaks as in `java script:`.
fn safe_address(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.into())
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
