"""The part of RESULTS.md about peers, rendered from bench/results/peers.json. What is said of a figure here is computed
from it: who wins, who loses, by how much."""
from results import shown

OWN, FLOOR = "keepsake", "sql"
CLIENTS = ("1", "2", "8")
RECALL_AIM, PEERS_RECALL = 0.99, 0.95
SEARCHES_AIM = 3
# (what, how it is read, in which unit, whether less is better)
MEASURES = [
    *((f"search {figure} at {count}", lambda of, count=count, figure=figure: of["searches"][count][figure], "ms", True) for count in ("1", "8") for figure in ("p50", "p95", "p99")),
    *((f"searches a second at {count}", lambda of, count=count: of["searches"][count]["per_second"], "/s", False) for count in CLIENTS),
    *((f"adds a second at {count}", lambda of, count=count: of["adds_per_second"][count], "/s", False) for count in ("1", "8")),
    ("adds a second until they can be found, at 8", lambda of: of["findable_per_second"], "/s", False),
    ("memory", lambda of: of["memory_mib"], "MiB", True),
    ("disk an item", lambda of: of["bytes_per_item"], "bytes", True),
    ("rows of 10", lambda of: of["recall"]["rows"], "", False),
]
# Which of them a peer that searches another's rows has no figure of its own for.
OF_FILLING = ("adds", "disk")


def section(raw):
    figures, versions = raw["figures"], raw["versions"]
    parts = ["## Beside what you would pick instead", method(versions)]
    for shape, whole in figures["shapes"].items():
        parts += [f"### {sized(shape).capitalize()}", said_of(whole), table(whole["peers"], versions), notes(whole["peers"]), losses(whole["peers"])]
    last = next(reversed(figures["shapes"].values()))
    parts += ["### While the embedder is down", outages(last["peers"])]
    if figures.get("locomo"):
        parts += ["### Evidence found (LoCoMo)", locomo(figures["locomo"])]
    return "\n\n".join(part for part in parts if part)


def sized(shape):
    users, items = (int(number) for number in shape.split("x"))
    return f"{users:,} users of {items:,} items"


def said_of(whole):
    """When and how, where that is not the same for all."""
    portions = {of["title"]: of["portions"] for of in filling(whole["peers"].values()) if of.get("portions", 1) > 1}
    sentences = [f"Searched in one go until {whole['at'][:16].replace('T', ' ')} (UTC, {whole['commit']}), in windows of {whole['seconds_a_window']:g} s."]
    if portions:
        sentences.append("Filled in portions, with a stop of everything between: " + ", ".join(f"{title} ({count})" for title, count in portions.items()) + ".")
    if whole["without"]:
        sentences.append(f"**Left out, because they did not end well: {', '.join(whole['without'])}.**")
    return " ".join(sentences)


def method(versions):
    return (f"Written by `make bench-peers`: every peer from its own package, without a language model, with one embedder on loopback (a hashed bag of words, 384 dimensions), on one durable PostgreSQL "
            f"({versions['postgresql']}, pgvector {versions['pgvector']}) where it needs one, filled alone and then searched in turn. A client is a process of its own with the peer's own library. Adds are those of the last tenth, one by one, into a full store. "
            f"Keepsake answers an add before its vector is made, the others after: *findable* is how many a second by 8 clients until the last has its vector (of Keepsake over the first nine tenths; of the others their adds at 8). "
            f"Searches are whole answers, each another question, the embedder's time included. Recall@10 is against exact cosine within the user; of a system that also counts words it says what those moved, "
            f"so Keepsake's own vectors' recall (out of its 50 best) stands behind it. Memory is that of the server's processes, of a library that of one process that uses it; PostgreSQL's is in none. Disk is without write-ahead logs. "
            f"Medians (and ranges) of the rounds.")


def table(peers, versions):
    head = ["", "adds/s, 1 client", "8", "findable/s", "search ms, p50", "p95", "p99", "searches/s, 1 client", "2", "8", "rows of 10", "recall@10", "MiB", "bytes an item"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for name, of in peers.items():
        title = f"{of['title']} {versions.get(of['title'], '')}".strip()
        one = of["searches"]["1"]
        adds = [shown(of["adds_per_second"]["1"], 0), shown(of["adds_per_second"]["8"], 0), f"{of['findable_per_second']:,.0f}"]
        rows.append([f"**{title}**" if name == OWN else title, *(["the same"] * 3 if of.get("filled_by") else adds),
                     *(shown(one[figure]) for figure in ("p50", "p95", "p99")), *(shown(of["searches"][count]["per_second"], 0) for count in CLIENTS),
                     f"{of['recall']['rows']:.1f}", recall(of["recall"]), shown(of["memory_mib"], 0), f"{of['bytes_per_item']:,}"])
        if later := of.get("later"):
            rows.append([later["title"], *(shown(later["adds_per_second"][count], 0) for count in ("1", "8")), f"{later['findable_per_second']:,.0f}", *["the same"] * (len(head) - 4)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def notes(peers):
    return "\n".join(f"- {of['title']} {of['note']}" for of in peers.values() if of.get("note"))


def recall(of):
    if of["answer"] is None:
        return "–"
    return f"{of['answer']:.2f}" if of["answer"] == of["vectors"] else f"{of['answer']:.2f}; vectors {of['vectors']:.3f}"


def aims(raw):
    """(what is aimed at, what was measured, whether that meets it), of every shape in which Keepsake is beside a peer."""
    for shape, whole in raw["figures"]["shapes"].items():
        peers = whole["peers"]
        if OWN in peers and others(peers):
            yield from ((f"{sized(shape)}: {aim}", measured, is_met) for aim, measured, is_met in aims_at(peers[OWN], others(peers)))


def aims_at(own, rest):
    at_one = lambda of, figure: of["searches"]["1"][figure]["median"]
    rate = lambda of: of["searches"]["8"]["per_second"]["median"]
    ranked = [of for of in rest if of["recall"]["answer"] is not None]
    if ranked:
        kept = own["recall"]["vectors"]
        for figure in ("p50", "p99"):
            fastest = min(ranked, key=lambda of: at_one(of, figure))
            yield (f"whole hybrid answer faster than the fastest peer's vector search at {figure}, at recall ≥ {RECALL_AIM}",
                   f"1 client: {at_one(own, figure):.1f} ms, recall {kept:.3f}; {fastest['title']} {at_one(fastest, figure):.1f} ms, recall {fastest['recall']['answer']:.2f}",
                   at_one(own, figure) < at_one(fastest, figure) and kept >= RECALL_AIM)
        keepers = [of for of in ranked if of["recall"]["answer"] >= PEERS_RECALL]
        best = max(keepers, key=rate) if keepers else max(ranked, key=lambda of: of["recall"]["answer"])
        who = f"the best peer that keeps its recall (≥ {PEERS_RECALL})" if keepers else f"the peer with the most recall (none has {PEERS_RECALL})"
        yield (f"searches a second at 8 clients {SEARCHES_AIM}× those of {who}",
               f"{rate(own):,.0f}/s; {best['title']} {rate(best):,.0f}/s, recall {best['recall']['answer']:.2f}: {rate(own) / rate(best):.1f}×", rate(own) >= SEARCHES_AIM * rate(best))
    fewest = f"{own['recall']['rows']:.1f}" + (f" (at the least {own['recall']['rows_low']})" if own["recall"]["rows_low"] < own["recall"]["rows"] else "")
    yield ("10 rows of 10 asked", "; ".join([fewest, *(f"{of['title']} {of['recall']['rows']:.1f}" for of in ranked)]), own["recall"]["rows_low"] >= 10)


def losses(peers):
    """Every measure in which somebody is ahead of Keepsake, and who."""
    if OWN not in peers:
        return ""
    sentences = []
    for what, read, unit, is_less_better in MEASURES:
        own = read(peers[OWN])
        others_here = [of for name, of in peers.items() if name != OWN and not (of.get("filled_by") and what.startswith(OF_FILLING))]
        ahead = sorted((of for of in others_here if is_better(middle(read(of)), middle(own), is_less_better)), key=lambda of: middle(read(of)), reverse=not is_less_better)
        if ahead:
            sentences.append(f"- {what}: {number(own)}{unit_of(unit)}, behind " + ", ".join(f"{of['title']} ({number(read(of))}{'; ranges meet' if ranges_meet(read(of), own) else ''})" for of in ahead) + ".")
    floor = " (raw SQL, the floor, counts as one to be behind of)" if FLOOR in peers else ""
    counted = f"Keepsake is behind in {len(sentences)} of {len(MEASURES)} measures{floor}:" if sentences else f"Keepsake is behind nobody in any of {len(MEASURES)} measures."
    return "\n".join([counted, "", *sentences])


def others(peers):
    return [of for name, of in peers.items() if name not in (OWN, FLOOR)]


def filling(peers):
    """Those that were given items of their own."""
    return [of for of in peers if not of.get("filled_by")]


def middle(figure):
    return figure["median"] if isinstance(figure, dict) else figure


def is_better(theirs, ours, is_less_better):
    return theirs < ours if is_less_better else theirs > ours


def ranges_meet(one, other):
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    return one["low"] <= other["high"] and other["low"] <= one["high"]


def number(figure):
    value = middle(figure)
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def unit_of(unit):
    return unit if unit.startswith("/") else f" {unit}" if unit else ""


def outages(peers):
    rows = ["| | search | add |", "|---|---|---|"]
    for of in peers.values():
        out = of["outage"]
        search = f"answers ({out['search']})" if out["search_answers"] else f"fails {after(out['search_seconds'])}"
        add = "accepted and kept: found once the embedder is back" if out["add_kept"] and out["add"] == "accepted" else \
            "accepted and **lost**" if out["add"] == "accepted" else "fails, yet is kept" if out["add_kept"] else f"fails {after(out['add_seconds'])}: lost, unless the caller keeps it"
        rows.append(f"| {of['title']} | {search} | {add} |")
    return "\n".join(rows)


def after(seconds):
    return f"after {seconds:.1f} s" if seconds >= 0.1 else "at once"


def locomo(peers):
    columns = {"any@5": "any@5", "any@10": "any@10", "share@10": "rec@10", "ndcg@10": "nDCG@10"}
    one = next(iter(peers.values()))
    rows = [f"{one['turns']:,} turns as items, {one['questions']:,} questions as they stand, {one['asked_for']} rows asked for, MiniLM's vectors for all. The reference server's answers have no order: it is not asked.", "",
            f"| | {' | '.join(columns.values())} | turns returned |", "|---" + "|---:" * (len(columns) + 1) + "|"]
    for name, of in peers.items():
        rows.append(f"| {'**' + of['title'] + '**' if name == OWN else of['title']} | {' | '.join(f'{of[column]:.1f}' for column in columns)} | {of['returned']:.1f} |")
    if OWN in peers:
        ahead = {name: [of["title"] for of in peers.values() if of[column] > peers[OWN][column]] for column, name in columns.items()}
        behind = [f"{name} ({', '.join(titles)})" for name, titles in ahead.items() if titles]
        rows += ["", f"Keepsake is behind in {'; '.join(behind)}." if behind else "Keepsake finds the most in every column."]
    return "\n".join(rows)
