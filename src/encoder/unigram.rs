//! The tokenizer of XLM-RoBERTa: of all ways to cut a text into pieces of the vocabulary, the most probable one.

use std::collections::VecDeque;
use std::ops::Range;

use crate::weights::Flaw;

/// In front of each word, instead of the blank.
const WORD: char = '▁';
/// Marks of a text's start and end, padding, what is unknown.
const MARKS: usize = 4;
const START: u32 = 0;
const END: u32 = 2;
const UNKNOWN: u32 = 3;
/// How much less probable an unknown character is than the rarest piece.
const UNKNOWN_PENALTY: f32 = 10.0;
/// No token.
const NONE: u32 = u32::MAX;

pub struct Tokenizer {
    pieces: Trie,
    scores: Vec<f32>,
    unknown: f32,
    /// The token of a blank that belongs to no word.
    blank: Option<u32>,
    /// Longest piece.
    chars_max: usize,
    normal: Normal,
}

/// What is read of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// With the marks of start and end.
    pub ids: Vec<u32>,
    /// The text has more tokens.
    pub is_truncated: bool,
    /// Tokens that the vocabulary does not have.
    pub unknown: usize,
    /// Those that it has, without the marks and lone blanks.
    pub known: usize,
}

/// Characters, ascending, each with what it is replaced by.
#[derive(Default)]
pub(crate) struct Normal {
    from: Vec<char>,
    /// One more than there are characters.
    starts: Vec<usize>,
    to: Vec<char>,
}

/// The pieces, character by character. A node's children are next to each other, ascending.
#[derive(Default)]
struct Trie {
    /// Of a node's children; one more than there are nodes.
    first: Vec<u32>,
    /// By which a node is reached.
    by: Vec<char>,
    /// The token that ends at a node.
    token: Vec<u32>,
}

impl Tokenizer {
    /// From the vocabulary in the order of its numbers.
    pub(crate) fn new(pieces: &[&str], scores: Vec<f32>, normal: Normal) -> Result<Self, Flaw> {
        if pieces.len() != scores.len()
            || pieces.len() <= MARKS
            || scores.iter().any(|s| !s.is_finite())
        {
            return Err(Flaw);
        }
        let told = (0_u32..).zip(pieces).skip(MARKS);
        let mut told: Vec<(Vec<char>, u32)> = told
            .filter(|(_, piece)| !piece.is_empty() && !is_mark(piece))
            .map(|(token, piece)| (piece.chars().collect(), token))
            .collect();
        told.sort_unstable();
        let least = scores.iter().copied().fold(f32::MAX, f32::min);
        Ok(Self {
            chars_max: told.iter().map(|(chars, _)| chars.len()).max().unwrap_or(1),
            pieces: Trie::of(&told),
            scores,
            unknown: least - UNKNOWN_PENALTY,
            blank: told.iter().find(|(chars, _)| *chars == [WORD]).map(|(_, token)| *token),
            normal,
        })
    }

    /// The first tokens of a text, at most `most` with the two marks.
    pub fn tokens(&self, text: &str, most: usize) -> Tokens {
        let room = most.saturating_sub(2);
        // As many characters have more tokens than that.
        let enough = (room + 1) * self.chars_max;
        let chars = self.normal.apply(text, enough);
        let mut tokens = self.best_path(&chars);
        let is_truncated = tokens.len() > room || chars.len() >= enough;
        tokens.truncate(room);
        let unknown = tokens.iter().filter(|token| **token == UNKNOWN).count();
        let blanks = tokens.iter().filter(|token| Some(**token) == self.blank).count();
        let known = tokens.len() - unknown - blanks;
        let ids = [START].into_iter().chain(tokens).chain([END]).collect();
        Tokens { ids, is_truncated, unknown, known }
    }

    /// The most probable tokens of normal characters (Viterbi).
    fn best_path(&self, chars: &[char]) -> Vec<u32> {
        #[derive(Clone, Copy)]
        struct Step {
            score: f32,
            from: usize,
            token: u32,
        }
        let unreached = Step { score: f32::MIN, from: 0, token: UNKNOWN };
        let mut best = vec![unreached; chars.len() + 1];
        best[0].score = 0.0;
        for from in 0..chars.len() {
            let before = best[from].score;
            let mut offer = |to: usize, token: u32, score: f32| {
                if before + score > best[to].score {
                    best[to] = Step { score: before + score, from, token };
                }
            };
            for (to, token) in self.pieces.beginning(&chars[from..]) {
                offer(from + to, token, self.scores[token as usize]);
            }
            offer(from + 1, UNKNOWN, self.unknown);
        }
        let mut tokens = Vec::new();
        let mut at = chars.len();
        while at > 0 {
            tokens.push(best[at].token);
            at = best[at].from;
        }
        tokens.reverse();
        tokens
    }
}

/// `<mask>`: no text may name it.
fn is_mark(piece: &str) -> bool {
    piece.len() > 2 && piece.starts_with('<') && piece.ends_with('>')
}

impl Trie {
    /// From distinct pieces, ascending.
    fn of(pieces: &[(Vec<char>, u32)]) -> Self {
        let mut trie = Self::default();
        let mut waiting: VecDeque<(Range<usize>, usize)> = VecDeque::from([(0..pieces.len(), 0)]);
        // The root is the first node, and is reached by nothing.
        trie.by.push('\0');
        while let Some((mut span, depth)) = waiting.pop_front() {
            trie.first.push(index(trie.by.len()));
            let ends = pieces.get(span.start).filter(|(chars, _)| chars.len() == depth);
            trie.token.push(ends.map_or(NONE, |(_, token)| *token));
            span.start += usize::from(ends.is_some());
            while !span.is_empty() {
                let by = pieces[span.start].0[depth];
                let same = pieces[span.clone()].partition_point(|(chars, _)| chars[depth] == by);
                trie.by.push(by);
                waiting.push_back((span.start..span.start + same, depth + 1));
                span.start += same;
            }
        }
        trie.first.push(index(trie.by.len()));
        trie
    }

    /// The lengths and tokens of all pieces with which the characters begin.
    fn beginning(&self, chars: &[char]) -> impl Iterator<Item = (usize, u32)> {
        let mut node = Some(0);
        let nodes = chars.iter().map_while(move |c| {
            node = self.child(node?, *c);
            node
        });
        (1..).zip(nodes.map(|node| self.token[node])).filter(|(_, token)| *token != NONE)
    }

    fn child(&self, node: usize, by: char) -> Option<usize> {
        let children = self.first[node] as usize..self.first[node + 1] as usize;
        let at = self.by[children.clone()].binary_search(&by).ok()?;
        Some(children.start + at)
    }
}

/// A vocabulary has far fewer nodes.
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Normal {
    /// Replaces one more character, which must be greater than the last.
    pub(crate) fn push(&mut self, from: char, to: impl Iterator<Item = char>) -> Result<(), Flaw> {
        if self.from.last().is_some_and(|last| *last >= from) {
            return Err(Flaw);
        }
        self.from.push(from);
        self.starts.push(self.to.len());
        self.to.extend(to);
        Ok(())
    }

    fn of(&self, c: char) -> Option<&[char]> {
        let at = self.from.binary_search(&c).ok()?;
        let end = self.starts.get(at + 1).copied().unwrap_or(self.to.len());
        Some(&self.to[self.starts[at]..end])
    }

    /// The first characters of the text as the vocabulary has them: each word begins with [`WORD`].
    fn apply(&self, text: &str, most: usize) -> Vec<char> {
        let mut normal = vec![WORD];
        for c in text.chars() {
            let itself = [c];
            for c in self.of(c).unwrap_or(&itself) {
                let c = if *c == ' ' { WORD } else { *c };
                if c != WORD || normal.last() != Some(&WORD) {
                    normal.push(c);
                }
            }
            if normal.len() >= most {
                break;
            }
        }
        normal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer() -> Tokenizer {
        let pieces = [
            ("<s>", 0.0),
            ("<pad>", 0.0),
            ("</s>", 0.0),
            ("<unk>", 0.0),
            ("▁", -4.0),
            ("▁bee", -5.0),
            ("s", -3.0),
            ("▁bees", -7.0),
            ("be", -6.0),
            ("e", -3.0),
            ("茶", -8.0),
            ("<mask>", 0.0),
        ];
        let mut normal = Normal::default();
        normal.push('\n', [' '].into_iter()).expect("first");
        normal.push('Ａ', ['b', 'e'].into_iter()).expect("ascending");
        assert!(normal.push('B', [].into_iter()).is_err());
        let scores = pieces.iter().map(|(_, score)| *score).collect();
        let pieces: Vec<&str> = pieces.iter().map(|(piece, _)| *piece).collect();
        Tokenizer::new(&pieces, scores, normal).expect("a vocabulary")
    }

    #[test]
    fn the_most_probable_pieces_are_taken() {
        let tokenizer = tokenizer();
        for (text, ids, unknown, known) in [
            ("bees", vec![0, 7, 2], 0, 1),
            ("bee  bees\n\nbees", vec![0, 5, 7, 7, 2], 0, 3),
            ("Ａe茶", vec![0, 5, 10, 2], 0, 2),
            ("", vec![0, 4, 2], 0, 0),
            ("xbee", vec![0, 4, 3, 8, 9, 2], 1, 2),
            ("🐝🐝", vec![0, 4, 3, 3, 2], 2, 0),
        ] {
            let expected = Tokens { ids, is_truncated: false, unknown, known };
            assert_eq!(tokenizer.tokens(text, 16), expected, "{text}");
        }
    }

    #[test]
    fn marks_in_a_text_are_text() {
        let tokens = tokenizer().tokens("<s><mask></s>", 64);
        assert!(tokens.ids[1..tokens.ids.len() - 1].iter().all(|id| *id >= 3 && *id < 11));
    }

    #[test]
    fn a_long_text_is_read_as_far_as_there_is_room() {
        let tokenizer = tokenizer();
        let tokens = tokenizer.tokens(&"bees ".repeat(1_000_000), 10);
        assert_eq!(tokens.ids, [vec![0], vec![7; 8], vec![2]].concat());
        assert!(tokens.is_truncated);
        assert!(!tokenizer.tokens("bees ".repeat(8).trim_end(), 10).is_truncated);
        assert!(tokenizer.tokens(&"bees ".repeat(9), 10).is_truncated);
    }
}
