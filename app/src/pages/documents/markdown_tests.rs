//! The conversion of Markdown, including hostile input.

use std::time::{Duration, Instant};

use super::*;

fn text(words: &str) -> Inline {
    Inline::Text(words.to_owned())
}

#[test]
fn what_people_write_is_rendered() {
    let (blocks, is_cut) = parse(
        "---\ntype: note\n---\n# Tea\n\nLikes *green* tea\nand **cake**.\n\n- [x] one\n- [ ] two\n  1. deep\n\n```sh\nls\n```\n\n| a | b |\n|---|---|\n| 1 | `2` |\n",
    );
    assert!(!is_cut);
    assert_eq!(blocks[0], Block::Code("type: note\n".to_owned()));
    assert_eq!(blocks[1], Block::Heading(1, vec![text("Tea")]));
    let Block::Paragraph(words) = &blocks[2] else {
        panic!("{blocks:?}");
    };
    assert_eq!(words[1], Inline::Emphasis(vec![text("green")]));
    assert_eq!(words[2], text(" tea\nand "));
    let Block::List { start: None, items } = &blocks[3] else {
        panic!("{blocks:?}");
    };
    assert_eq!((items[0].done, items[1].done), (Some(true), Some(false)));
    assert_eq!(items[0].blocks, [Block::Words(vec![text("one")])]);
    assert!(matches!(items[1].blocks[1], Block::List { start: Some(1), .. }));
    assert_eq!(blocks[4], Block::Code("ls\n".to_owned()));
    assert_eq!(
        blocks[5],
        Block::Table {
            head: vec![vec![text("a")], vec![text("b")]],
            rows: vec![vec![vec![text("1")], vec![Inline::Code("2".to_owned())]]],
        }
    );
}

#[test]
fn html_is_text_images_are_words_and_links_lead_to_the_web_alone() {
    let (blocks, _) = parse("<script>x()</script>\n\na <b>c</b> ![p*i*c](http://x.example/a.png)");
    assert_eq!(blocks[0], Block::Paragraph(vec![text("<script>x()</script>\n")]));
    assert_eq!(
        blocks[1],
        Block::Paragraph(vec![
            text("a <b>c</b> "),
            Inline::Image { alt: "pic".to_owned(), address: "http://x.example/a.png".to_owned() }
        ])
    );
    for address in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java&#10;script:alert(1)",
        "java&Tab;script:alert(1)",
        "&#1;javascript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example",
        "/logout",
        "file:///etc/passwd",
    ] {
        let (blocks, _) = parse(&format!("[words](<{address}>)"));
        assert!(!format!("{blocks:?}").contains("Link"), "{blocks:?}");
        assert!(format!("{blocks:?}").contains("words ("), "{blocks:?}");
    }
    let (blocks, _) = parse("<a@b.example> https://no.example [w](https://x.example/?a=b)");
    let shown = format!("{blocks:?}");
    assert!(
        shown.contains("\"mailto:a@b.example\"") && shown.contains("\"https://x.example/?a=b\"")
    );
}

fn depth(blocks: &[Block]) -> usize {
    let of = |block: &Block| match block {
        Block::Quote(inside) => 1 + depth(inside),
        Block::List { items, .. } => {
            1 + items.iter().map(|item| depth(&item.blocks)).max().unwrap_or(0)
        }
        _ => 1,
    };
    blocks.iter().map(of).max().unwrap_or(0)
}

#[test]
fn what_is_deep_stands_as_text_and_loses_no_word() {
    let nested = "> ".repeat(40) + "deep\n>\n> shallow";
    let (blocks, _) = parse(&nested);
    assert!(depth(&blocks) <= DEPTH_MAX + 1, "{}", depth(&blocks));
    let shown = format!("{blocks:?}");
    assert!(shown.contains("deep") && shown.contains("shallow"));
    let list: String = (0..40).map(|n| format!("{}- item {n}\n", "  ".repeat(n))).collect();
    let shown = format!("{:?}", parse(&list).0);
    assert!((0..40).all(|n| shown.contains(&format!("item {n}"))), "{shown}");
    let emphasis = "*a **b ".repeat(40) + "c" + &"** *".repeat(40);
    parse(&emphasis);
}

#[test]
fn bombs_cost_little() {
    let size = 1_000_000;
    let of = |text: &str| text.repeat(size / text.len());
    let half = |one: &str, other: &str| {
        let half = size / 8;
        one.repeat(half / one.len()) + &other.repeat(half / other.len())
    };
    let growing: String = (0..700).map(|n| " ".repeat(n) + "- x\n").collect();
    let bombs = [
        of("> "),
        of(">"),
        of("- "),
        of("* "),
        of("1. "),
        of("- x\n"),
        of("#\n"),
        of("["),
        of("[a]("),
        of("![a]("),
        of("**a "),
        of("*_"),
        of("`"),
        of("` `` "),
        of("<"),
        of("<a "),
        of("<!--"),
        of("&"),
        of("\\"),
        of("|a"),
        of("|a|b|\n|-|-|\n"),
        of("[a]: b\n"),
        of("[a][b]"),
        of("~~~\n"),
        of("~~a "),
        of("    x\n"),
        half("> ", "\n> x\n"),
        half("- ", "\n\n"),
        half("- ", "\na"),
        half("> ", "a\n"),
        growing,
    ];
    for bomb in bombs {
        let began = Instant::now();
        let (blocks, _) = parse(&bomb);
        let took = began.elapsed();
        let first: String = bomb.chars().take(12).collect();
        assert!(took < Duration::from_secs(3), "{first:?} took {took:?}");
        assert!(depth(&blocks) <= DEPTH_MAX + 1, "{first:?}");
    }
    let (_, is_cut) = parse(&of("- x\n"));
    assert!(is_cut);
}
