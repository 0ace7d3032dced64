use serde_json::json;

use super::{fields, refused_field};
use crate::support::TestApp;

#[tokio::test(crate = "crate::support::shared")]
async fn themes_come_with_counts_of_active_items_fullest_first_and_nothing_of_anothers() {
    let (_, anna, ben) = TestApp::with_users().await;
    let none = json!({ "themes": [], "truncated": false });
    assert_eq!(anna.call("memory_list_themes", json!({})).await, none);
    anna.add_to("work", "a").await;
    anna.add_to("work", "b").await;
    let gone = anna.add_to("garden", "c").await;
    anna.add_to("general", "d").await;
    anna.call("memory_archive", json!({ "item_id": gone })).await;
    let expected = json!({ "themes": [
        { "slug": "work", "display_name": "work", "description": "", "active_count": 2 },
        { "slug": "general", "display_name": "general", "description": "", "active_count": 1 },
        { "slug": "garden", "display_name": "garden", "description": "", "active_count": 0 },
    ], "truncated": false });
    assert_eq!(anna.call("memory_list_themes", json!({})).await, expected);
    // A second user sees none, and may use the same name.
    assert_eq!(ben.call("memory_list_themes", json!({})).await, none);
    ben.add_to("work", "b").await;
    let themes = ben.call("memory_list_themes", json!({})).await;
    assert_eq!(themes["themes"][0]["active_count"], 1);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_theme_is_called_and_described_as_somebody_says_and_keeps_its_slug() {
    let (_, anna, ben) = TestApp::with_users().await;
    anna.add_to("Home Lab", "a").await;
    ben.add_to("Home Lab", "b").await;
    let input = json!({ "theme": "home-lab", "display_name": " Servers ", "description": "What runs at home." });
    let expected = json!({ "slug": "home-lab", "display_name": "Servers",
                           "description": "What runs at home.", "described_by": "agent", "active_count": 1 });
    assert_eq!(anna.call("memory_describe_theme", input).await, expected);
    assert_eq!(anna.call("memory_list_themes", json!({})).await["themes"], json!([expected]));
    // Of another user nothing is changed, and what is left out stays.
    let bens = ben.call("memory_list_themes", json!({})).await;
    assert_eq!(bens["themes"][0]["display_name"], "Home Lab");
    let input = json!({ "theme": "home-lab", "description": "" });
    let described = anna.call("memory_describe_theme", input).await;
    assert_eq!(fields(&described, ["display_name", "description"]), json!(["Servers", ""]));
    for (input, told) in [
        (json!({ "theme": "none", "description": "x" }), "404 "),
        (json!({ "theme": " ", "description": "x" }), "422 theme"),
        (json!({ "theme": "home-lab", "description": "x".repeat(501) }), "422 description"),
    ] {
        assert_eq!(refused_field(&anna, "memory_describe_theme", input).await, told);
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn names_with_signs_are_themes_of_their_own_and_each_is_found_by_what_it_is_called() {
    let (_, anna) = TestApp::with_user().await;
    for theme in ["C++", "C#", "c++", "Küche", "厨房", "d"] {
        anna.add_to(theme, &format!("about {theme}")).await;
    }
    // As it was called when slugs had no signs.
    anna.call("memory_describe_theme", json!({ "theme": "d", "display_name": "D++" })).await;
    anna.add_to("D++", "another").await;
    for (theme, count) in
        [("C++", 2), ("c-sharp", 1), ("d++", 2), ("d", 2), ("KÜCHE", 1), ("厨房", 1)]
    {
        let found = anna.call("memory_search", json!({ "query": "*", "theme": theme })).await;
        assert_eq!(found["results"].as_array().unwrap().len(), count, "{theme}");
    }
}
