//! The addresses of entities: the list with its filters, and the graph.

use super::{more_rows, rows_shown, written};
use crate::entities::EntityOrder;
use crate::limits::PAGE_SIZE;
use crate::memories::mentions::EntityType;

/// Steps of a graph around an entity.
pub const DEPTHS: [u8; 3] = [1, 2, 3];

/// What the address of `/entities` says: `?q=&type=&sort=&shown=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityFilters {
    pub q: String,
    /// `None`: all but dates and addresses.
    pub entity_type: Option<EntityType>,
    pub sort: EntityOrder,
    /// How many rows to show, in steps of [`PAGE_SIZE`].
    pub shown: usize,
}

/// What the address of `/graph` says: `?around=&depth=&type=&relation=&at=&together=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphFilters {
    pub around: Option<i64>,
    /// Steps from it: 1 to 3.
    pub depth: u8,
    pub entity_type: Option<EntityType>,
    /// By its slug, such as `lives_in`.
    pub relation: Option<String>,
    /// A day as `2026-05-17`; `None`: today.
    pub at: Option<String>,
    /// `together=0`: only what was stated, not what is only named in the same memories.
    pub with_together: bool,
}

pub fn entity_path(id: i64) -> String {
    format!("/entities/{id}")
}

pub fn order_slug(order: EntityOrder) -> &'static str {
    match order {
        EntityOrder::Mentions => "mentions",
        EntityOrder::Name => "name",
        EntityOrder::LastSeen => "last",
    }
}

fn order_from(slug: &str) -> EntityOrder {
    let all = [EntityOrder::Mentions, EntityOrder::Name, EntityOrder::LastSeen];
    all.into_iter().find(|order| order_slug(*order) == slug).unwrap_or_default()
}

impl EntityFilters {
    /// Reads `q=…&type=…` (without the `?`). What it does not know, it passes over.
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self { shown: PAGE_SIZE, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "q" => filters.q = value.trim().to_owned(),
                "type" => filters.entity_type = EntityType::from_label(&value),
                "sort" => filters.sort = order_from(&value),
                "shown" => filters.shown = rows_shown(&value),
                _ => {}
            }
        }
        filters
    }

    /// The path and query that show these filters; defaults are left out.
    pub fn href(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.q.is_empty() {
            query.append_pair("q", &self.q);
        }
        if let Some(entity_type) = self.entity_type {
            query.append_pair("type", entity_type.as_str());
        }
        if self.sort != EntityOrder::default() {
            query.append_pair("sort", order_slug(self.sort));
        }
        if self.shown > PAGE_SIZE {
            query.append_pair("shown", &self.shown.to_string());
        }
        written("/entities", query.finish())
    }

    pub fn is_narrowed(&self) -> bool {
        !self.q.is_empty() || self.entity_type.is_some()
    }

    pub fn with_type(&self, entity_type: Option<EntityType>) -> Self {
        Self { entity_type, shown: PAGE_SIZE, ..self.clone() }
    }

    /// One step further down, or `None` where the page is as long as it gets.
    pub fn with_more(&self) -> Option<Self> {
        more_rows(self.shown).map(|shown| Self { shown, ..self.clone() })
    }
}

impl Default for GraphFilters {
    fn default() -> Self {
        Self {
            around: None,
            depth: DEPTHS[0],
            entity_type: None,
            relation: None,
            at: None,
            with_together: true,
        }
    }
}

impl GraphFilters {
    pub fn around(id: i64) -> Self {
        Self { around: Some(id), ..Self::default() }
    }

    /// Reads `around=…&depth=…` (without the `?`). What it does not know, it passes over.
    pub fn from_query(query: &str) -> Self {
        let mut filters = Self::default();
        let given = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "around" => filters.around = value.parse().ok(),
                "depth" => {
                    let depth = value.parse().ok().filter(|depth| DEPTHS.contains(depth));
                    filters.depth = depth.unwrap_or(DEPTHS[0]);
                }
                "type" => filters.entity_type = EntityType::from_label(&value),
                "relation" => filters.relation = given(&value),
                "at" => filters.at = given(&value),
                "together" => filters.with_together = value != "0",
                _ => {}
            }
        }
        filters
    }

    /// The path and query that show these filters; defaults are left out.
    pub fn href(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(around) = self.around {
            query.append_pair("around", &around.to_string());
        }
        if self.depth != DEPTHS[0] {
            query.append_pair("depth", &self.depth.to_string());
        }
        if let Some(entity_type) = self.entity_type {
            query.append_pair("type", entity_type.as_str());
        }
        if let Some(relation) = &self.relation {
            query.append_pair("relation", relation);
        }
        if let Some(at) = &self.at {
            query.append_pair("at", at);
        }
        if !self.with_together {
            query.append_pair("together", "0");
        }
        written("/graph", query.finish())
    }

    pub fn is_narrowed(&self) -> bool {
        *self != Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written_back_unchanged() {
        let address = "q=caf%C3%A9&type=place";
        assert_eq!(EntityFilters::from_query(address).href(), "/entities?q=caf%C3%A9");
        let address = "q=anna&type=person&sort=last&shown=50";
        let filters = EntityFilters::from_query(address);
        assert_eq!(filters.href(), format!("/entities?{address}"));
        assert_eq!(filters.with_type(None).href(), "/entities?q=anna&sort=last");
        let address = "around=3&depth=2&type=person&relation=lives_in&at=2026-05-17&together=0";
        let filters = GraphFilters::from_query(address);
        assert_eq!(filters.href(), format!("/graph?{address}"));
    }

    #[test]
    fn nonsense_in_the_address_is_passed_over() {
        let nonsense = EntityFilters::from_query("type=x&sort=y&shown=-1&=%FF");
        assert_eq!(nonsense.href(), "/entities");
        let nonsense = GraphFilters::from_query("around=x&depth=9&type=y&relation=&at=&together=");
        assert_eq!(nonsense.href(), "/graph");
        assert!(!nonsense.is_narrowed());
    }
}
