//! Which builtin models there are, and where their files are.

use std::path::{Path, PathBuf};

use crate::config::runtime_dirs;

pub(super) const E5: &str = "e5-small-q4.bin";
pub(super) const WEIGHTS: &str = "model.safetensors";
pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const CONFIG: &str = "config.json";

/// Whose vectors a space has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltinModel {
    #[default]
    Multilingual,
    /// What earlier versions had.
    English,
}

impl BuiltinModel {
    pub const ALL: [Self; 2] = [Self::Multilingual, Self::English];

    /// As in the settings of a space.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multilingual => "multilingual-e5-small",
            Self::English => "all-MiniLM-L6-v2",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }

    /// What the model wants before a query and before a document.
    pub fn prefixes(self) -> [&'static str; 2] {
        match self {
            Self::Multilingual => ["query: ", "passage: "],
            Self::English => ["", ""],
        }
    }

    /// In a `runtime` folder; `tools/fetch_model.py` fills it.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Multilingual => "model-multilingual-e5-small",
            Self::English => "model-all-minilm-l6-v2",
        }
    }

    pub(super) fn fetched_by(self) -> &'static str {
        match self {
            Self::Multilingual => "python3 tools/fetch_model.py",
            Self::English => "python3 tools/fetch_model.py --english",
        }
    }

    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Multilingual => &[E5],
            Self::English => &[WEIGHTS, TOKENIZER, CONFIG],
        }
    }

    /// Tokens read per text. MiniLM was trained with as many; a passage of ours has hardly more.
    pub(super) fn tokens_max(self) -> usize {
        match self {
            Self::Multilingual => 512,
            Self::English => 256,
        }
    }

    /// Where its files are or, if they are nowhere, may be put later.
    pub(super) fn find(self, data_dir: &Path) -> PathBuf {
        let mut folders = runtime_dirs(data_dir).map(|runtime| runtime.join(self.folder()));
        let shipped = folders.clone().find(|folder| self.is_in(folder));
        shipped.or_else(|| folders.next()).unwrap_or_default()
    }

    pub(super) fn is_in(self, folder: &Path) -> bool {
        self.files().iter().all(|name| folder.join(name).is_file())
    }
}
