#!/usr/bin/env python3
"""Makes bench/RESULTS.md and its plots of bench/results/*.json, and says of each aim whether it is met.

    python3 bench/report.py

Sentences about figures are computed from them too. Standard library only.
"""
import json
import math
import sys
from pathlib import Path

import plot
from results import FOLDER, shown

PAGE = FOLDER.parent / "RESULTS.md"
PEERS = Path(__file__).resolve().parent / "peers"
GET_LOCOMO = ("Not measured in this run. LoCoMo is public but not ours to pass on (CC BY-NC): take `data/locomo10.json` of snap-research/locomo and `errors.json` "
              "of dial481/locomo-audit, then `LOCOMO=locomo10.json ERRORS=errors.json make bench`.")


def main():
    raw = {path.stem: whole for path in sorted(FOLDER.glob("*.json")) if (whole := recorded(path))}
    if not raw:
        sys.exit(f"✗ there is nothing in {FOLDER}: run `make bench` first")
    figures = {name: whole["figures"] for name, whole in raw.items()}
    judged = list(aims(figures))
    parts = [section(figures) for section in (searches, adds, drain, fair, alone, growth, languages, quality, ablation)]
    shown_here = {"searches", "adds", "drain", "fair", "start", "growth", "languages", "quality", "ablation", "peers"}
    if "peers" in raw and (PEERS / "section.py").is_file():
        sys.path.insert(0, str(PEERS))
        import section as peers
        parts.append(peers.section(raw["peers"]))
        judged += peers.aims(raw["peers"])
    parts = [heading(raw), summary(judged), *parts, beside(sorted(raw.keys() - shown_here))]
    PAGE.write_text("\n\n".join(part.strip() for part in parts if part) + "\n")
    print(f"{PAGE}: {sum(1 for *_, is_met in judged if is_met)} of {len(judged)} aims met")


def recorded(path):
    """What `record` wrote there; of anything else, nothing."""
    try:
        whole = json.loads(path.read_text())
    except ValueError:
        whole = None
    if isinstance(whole, dict) and {"at", "machine", "versions", "figures"} <= whole.keys():
        return whole
    print(f"· left out, it is no record of a benchmark: {path}")


def beside(names):
    """What was measured too and has its tables elsewhere."""
    return f"## Also measured\n\n{', '.join(f'[{name}]({FOLDER.name}/{name}.json)' for name in names)}: figures alone; bench/README.md and docs/ say what they show." if names else ""


def heading(raw):
    places = {tuple(whole["machine"].items()) for whole in raw.values()}
    versions = {name: version for whole in raw.values() for name, version in whole["versions"].items() if name != "commit"}
    machines = "; ".join(f"{place['cpu']}, {place['cores']} cores, {place['memory_gib']} GiB, {place['kernel']}" for place in map(dict, places))
    when = ", ".join(f"{name} {whole['at'][:16].replace('T', ' ')} ({whole['versions']['commit']})" for name, whole in raw.items())
    return (f"# Where Keepsake stands\n\nWritten by `make bench` (peers: `make bench-peers`) of [results/](results/); no figure here was typed. A figure is the median of its rounds, with their range; "
            f"what is compared was measured in one run, in turn.\n\n{machines}. {', '.join(f'{name} {version}' for name, version in versions.items())}. At (UTC) and of which commit: {when}.")


# Aims

def aims(figures):
    """(what is aimed at, what was measured, whether that meets it); of what was not measured, nothing."""
    if of := figures.get("searches"):
        more = {size["items"]: size["MCP"]["p50"]["median"] - size["search"]["p50"]["median"] for size in of["sizes"]}
        yield ("MCP, p50 ≤ HTTP's + 1 ms", ", ".join(f"{ms:+.1f} ms at {items:,}" for items, ms in more.items()), max(more.values()) <= 1)
    if of := figures.get("adds"):
        eight = of["in_turn"]["8"]["HTTP"]
        yield ("add, ≥ 1,500/s at 8 clients, activity log on", f"{shown(eight['per_second'], 0)}/s", eight["per_second"]["median"] >= 1_500)
        yield ("add, p95 ≤ 10 ms at 8 clients", f"{shown(eight['p95_ms'])} ms", eight["p95_ms"]["median"] <= 10)
    if of := figures.get("fair"):
        yield (f"a newcomer's {of['few']} memories by meaning within 5 s, {of['many']} more within 60 s, while others' texts wait", f"{of['few_seconds']:.1f} s, {of['many_seconds']:.1f} s", of["few_seconds"] <= 5 and of["many_seconds"] <= 60)
    if of := figures.get("drain"):
        yield ("vectors made, ≥ 95 % of what the provider alone does", shown(of["drain_of_bare"], 3), of["drain_of_bare"]["median"] >= 0.95)
        yield ("search while all vectors are made anew, p95 ≤ 2 × idle", f"{shown(of['rebuilding_p95_of_idle'], 2)} ×", of["rebuilding_p95_of_idle"]["median"] <= 2)
    if of := figures.get("start"):
        for name, most in (("without the builtin model", 120), ("with the builtin model", 400)):
            memory = of["memory_mib"][name]
            yield (f"server alone {name}, ≤ {most} MB resident", f"{memory['at rest']:.0f} MiB at rest, {memory['after work']:.0f} after work", max(memory.values()) * 1.048576 <= most)
        slowest = max(of["seconds_to_readyz"].values(), key=lambda seconds: seconds["median"])
        yield ("start to /readyz on an existing database ≤ 2 s", f"{shown(slowest, 2)} s", slowest["median"] <= 2)
    if of := figures.get("growth"):
        recalls = {point["items"]: point["recall_at_10"]["mean"] for point in of["one_user"]}
        yield ("recall@10 under the user filter ≥ 0.99 at every size", ", ".join(f"{mean:.3f} at {items:,}" for items, mean in recalls.items()), min(recalls.values()) >= 0.99)
        for items, most in ((10_000, 12), (100_000, 60)):
            for point in of["one_user"]:
                if point["items"] == items:
                    yield (f"search among one user's {items:,} items, p50 ≤ {most} ms", f"{shown(point['HTTP']['p50_ms'])} ms", point["HTTP"]["p50_ms"]["median"] <= most)
    if of := figures.get("quality"):
        yield from quality_aims(of["methods"])
    if of := figures.get("ablation"):
        answered, *alone = (of["arms"]["all"][name] for name in ("as search answers", "by meaning alone", "by words alone"))
        measures = ("any@10", "rec@10")
        yield ("LoCoMo 6–10: what search answers better than meaning or words alone at 10", ", ".join(f"{name} {' / '.join(f'{100 * arm[name]:.1f}' for arm in (answered, *alone))}" for name in measures),
               all(answered[name] > max(arm[name] for arm in alone) for name in measures))


def quality_aims(methods):
    whole = {name: of["1-10"]["all"] for name, of in methods.items()}
    both, words, library = (next(name for name in whole if name.startswith(start)) for start in ("70/30", "lexical", "BM25"))
    pairs = lambda names, measures: ", ".join(f"{measure} {' / '.join(f'{whole[name][measure]:.1f}' for name in names)}" for measure in measures)
    measures = ("any@10", "share@10", "ndcg@10", "mrr")
    yield ("LoCoMo: words alone no worse than the BM25 library", pairs((words, library), measures), all(whole[words][name] >= whole[library][name] for name in measures))
    if held := methods[both]["6-10"]["all"].get("any@10"):
        yield ("LoCoMo: any@10 ≥ 84 with raw turns, held on conversations 6–10", f"{held:.1f}", held >= 84)


def summary(judged):
    if not judged:
        return "## Aims\n\nOf what was measured here nothing has an aim."
    lost = [aim for aim in judged if not aim[2]]
    text = f"## Losses first\n\n{len(lost)} of {len(judged)} aims are not met." if lost else f"## Aims\n\nAll {len(judged)} aims are met."
    rows = [[aim, figure, "met" if is_met else "**not met**"] for aim, figure, is_met in sorted(judged, key=lambda aim: aim[2])]
    return f"{text}\n\n{table(['aim', 'measured', ''], rows)}"


# Sections

def searches(figures):
    if not (of := figures.get("searches")):
        return missing("Searches")
    alone = [[f"{size['items']:,}", shown(size["first_ms"], 0), *(shown(size["search"][part], 2) for part in ("p50", "p95", "p99")), shown(size["MCP"]["p50"], 2), shown(size["get"]["p50"], 2)] for size in of["sizes"]]
    at_8 = [[f"{size['items']:,}", *(shown(size["at_8"][door][part], digits) for door in ("search", "get") for part, digits in (("per_second", 0), ("p50", 1), ("p99", 1))),
             f"{size['index_bytes'] / size['items']:,.0f}", f"{size['resident_bytes'] / 2**20:,.0f}"] for size in of["sizes"]]
    return (f"## Searches\n\nOf one user's items, whose index is in memory; the queries' vectors are known. *First*: the search that reads the index from the database. `memory_get` reads one row by its key. One client, in turn:\n\n"
            f"{table(['items', 'first, ms', 'p50 ms', 'p95', 'p99', 'by MCP, p50', 'memory_get, p50'], alone)}\n\n8 clients, each asking again at once:\n\n"
            f"{table(['items', 'searches/s', 'p50 ms', 'p99', 'memory_get/s', 'p50 ms', 'p99', 'bytes of index an item', 'MiB of the server'], at_8)}")


def adds(figures):
    if not (of := figures.get("adds")):
        return missing("The floor of an add")
    turns = of["in_turn"]
    rows = [[clients, door, *(shown(doors[door][name], digits) for name, digits in (("p50_ms", 2), ("p95_ms", 1), ("per_second", 0))), "" if door == "floor" else percent(share(turns, clients, door))]
            for clients, doors in turns.items() for door in ("floor", "HTTP")]
    rows += [[clients, "HTTP, vectors being made", *(shown(doors["HTTP"][name], digits) for name, digits in (("p50_ms", 2), ("p95_ms", 1), ("per_second", 0))), ""]
             for clients, doors in of["while_vectors_are_made"].items()]
    return (f"## The floor of an add\n\n`memory_add` beside all the statements that it sends, prepared, in a transaction an add, in pgbench; the server writes together what comes together. The activity log is on, vectors wait for a provider that is down.\n\n"
            f"{table(['clients', '', 'p50 ms', 'p95 ms', 'adds/s', 'throughput of the floor'], rows)}")


def drain(figures):
    if not (of := figures.get("drain")):
        return missing("Vectors")
    rows = [["the provider alone, texts/s", shown(of["bare_per_second"], 0)], ["the server's drain, texts/s", shown(of["drain_per_second"], 0)], ["ratio", shown(of["drain_of_bare"], 3)],
            ["search while idle, p50 and p95, ms", f"{shown(of['idle_p50_ms'])}; {shown(of['idle_p95_ms'])}"],
            ["search while all is rebuilt, p50 and p95, ms", f"{shown(of['rebuilding_p50_ms'])}; {shown(of['rebuilding_p95_ms'])}"],
            ["add while the provider is down, p50 and p95, ms", "; ".join(f"{ms:.1f}" for ms in of["add_provider_dead_ms"])]]
    note = "" if of["rebuild_outlasted_the_searches"] else "\n\nNot all searches fell into the rebuild: it ended before them."
    return f"## Vectors\n\nA stand-in for a provider on loopback, 40 ms a call of 32 texts; {of['items']:,} items.\n\n{table(['', ''], rows)}{note}"


def fair(figures):
    if not (of := figures.get("fair")):
        return missing("A newcomer beside others' work")
    rows = [["texts of others that waited", f"{of['waiting']:,}"], [f"a newcomer's {of['few']} memories have their vectors after, s", f"{of['few_seconds']:.1f}"],
            [f"their {of['many']} more after, s", f"{of['many_seconds']:.1f}"], ["texts of others that still waited", f"{of['left']:,}"]]
    return f"## A newcomer beside others' work\n\nThe builtin model; {of['users']} users have handed over {of['messages_a_user']} long messages each.\n\n{table(['', ''], rows)}"


def alone(figures):
    if not (of := figures.get("start")):
        return missing("The server alone")
    rows = [[name, f"{memory['at rest']:.0f}", f"{memory['after work']:.0f}", shown(of["seconds_to_readyz"][name], 2)] for name, memory in of["memory_mib"].items()]
    return f"## The server alone\n\nWork was {of['items']:,} adds and 500 searches by 8 clients.\n\n{table(['', 'MiB at rest', 'MiB after work', 's to /readyz'], rows)}"


def growth(figures):
    if not (of := figures.get("growth")):
        return missing("Growth")
    return "\n\n".join(["## Growth", f"Filled by SQL and not through the API, vacuumed; one client, each asking again at once; the database held {of['database_bytes'] / 2**30:.1f} GiB at the end.",
                        curve("one user's items", f"Items of one user, beside {of['items_beside']:,} of all users", of["one_user"], "items", recall=True),
                        curve("all items", f"Items of all users; those of the one who asks stay {of['items_of_others']:,}", of["all_items"], "items"),
                        themes(of), rebuilds(of)])


def curve(name, title, points, unit, recall=False):
    if not points:
        return missing(name)
    header = [unit, "p50 ms", "p95"] + (["recall@10", "worst"] if recall else [])
    rows = [[f"{point[unit]:,}", shown(point["HTTP"]["p50_ms"]), shown(point["HTTP"]["p95_ms"])]
            + ([f"{point['recall_at_10']['mean']:.4f}", f"{point['recall_at_10']['worst']:.1f}"] if recall else []) for point in points]
    series = {"memory_search": [(point[unit], *low_high(point["HTTP"]["p50_ms"])) for point in points]}
    picture = draw("growth_" + name.replace(" ", "_").replace("'s", ""), plot.lines(title, unit, "p50, ms", series))
    return f"### By {name}\n\n{bend(points, unit)}\n\n{picture}\n\n{table(header, rows)}"


def bend(points, unit, of=lambda point: point["HTTP"]["p50_ms"]["median"]):
    """Where a curve bends, in words that are computed: where it has doubled, and where it is steepest."""
    if len(points) < 2:
        return ""
    sizes, times = [point[unit] for point in points], [of(point) for point in points]
    said = f"From {sizes[0]:,} to {sizes[-1]:,} {unit} p50 goes from {times[0]:.1f} to {times[-1]:.1f} ms, {times[-1] / times[0]:.1f}-fold."
    doubled = next((n for n, ms in enumerate(times) if ms >= 2 * times[0]), None)
    if doubled is None:
        return said + " It never reaches twice its beginning: no bend at these sizes."
    (n1, n2), (t1, t2) = sizes[doubled - 1:doubled + 1], times[doubled - 1:doubled + 1]
    at = n1 * (n2 / n1) ** (math.log(2 * times[0] / t1) / math.log(t2 / t1))
    steepest = max(range(1, len(points)), key=lambda n: math.log(times[n] / times[n - 1]) / math.log(sizes[n] / sizes[n - 1]))
    return said + f" It bends at about {float(f'{at:.2g}'):,.0f}, where it has doubled; it is steepest from {sizes[steepest - 1]:,} to {sizes[steepest]:,}: {sizes[steepest] / sizes[steepest - 1]:g} times the {unit}, {times[steepest] / times[steepest - 1]:.1f} times the time."


def themes(of):
    if not of["themes"]:
        return ""
    rows = [[f"{point['themes']:,}", shown(point["HTTP"]["p50_ms"]), shown(point["in_one_theme"]["p50_ms"]), shown(point["list_themes"]["p50_ms"])] for point in of["themes"]]
    series = {name: [(point["themes"], *low_high(pick(point)["p50_ms"])) for point in of["themes"]]
              for name, pick in (("search", lambda p: p["HTTP"]), ("search in one theme", lambda p: p["in_one_theme"]), ("memory_list_themes", lambda p: p["list_themes"]))}
    listed = bend(of["themes"], "themes", lambda point: point["list_themes"]["p50_ms"]["median"])
    return (f"### By themes\n\n{of['items_in_themes']:,} items of one user. Search: {bend(of['themes'], 'themes')} `memory_list_themes`: {listed}\n\n"
            f"{draw('growth_themes', plot.lines('Themes of one user', 'themes', 'p50, ms', series))}\n\n{table(['themes', 'search p50 ms', 'search in one theme', 'memory_list_themes'], rows)}")


def rebuilds(of):
    rows = [[f"{point['items']:,}", f"{point['items_per_second']:,}", f"{point['bare_per_second']:,}", percent(point["items_per_second"] / point["bare_per_second"]),
             f"{point['idle_p50_ms']:.1f}; {point['idle_p95_ms']:.1f}", f"{point['rebuilding_p50_ms']:.1f}; {point['rebuilding_p95_ms']:.1f}", f"{point['rebuilding_p95_ms'] / point['idle_p95_ms']:.2f}"] for point in of["rebuild"]]
    header = ["items", "made/s", "provider alone", "ratio", "search idle, p50; p95 ms", "meanwhile", "p95 of idle"]
    return f"### A rebuild while one client searches\n\nA stand-in for a provider that takes 20 ms a call of 32 texts.\n\n{table(header, rows)}" if rows else ""


def quality(figures):
    if not (of := figures.get("quality")):
        return f"## Finding the evidence (LoCoMo)\n\n{GET_LOCOMO}"
    measures = ("any@5", "any@10", "any@50", "share@5", "share@10", "all@10", "ndcg@10", "mrr")
    parts = [f"## Finding the evidence (LoCoMo)\n\nOne item a turn ({of['turns']:,}), the question as query, no judge. *any@k*: some evidence is within the first k; *share@k*: how much of it; *all@10*: all of it; "
             f"*mrr*: of the first {of['found_max']}. In percent."]
    best = {measure: max(method["1-10"]["all"][measure] for method in of["methods"].values()) for measure in measures}
    bold = lambda value, is_best: f"**{value:.1f}**" if is_best else f"{value:.1f}"
    for part, name in (("1-10", "All ten conversations"), ("1-5", "Conversations 1–5, on which things are chosen"), ("6-10", "Conversations 6–10, on which they are reported")):
        rows = [[method, *(bold(scores[part]["all"][measure], part == "1-10" and scores[part]["all"][measure] == best[measure]) for measure in measures)]
                for method, scores in of["methods"].items() if scores[part]["all"]]
        if rows:
            parts.append(f"{name} ({of['questions'][part]['all']:,} questions):\n\n{table(['', *measures], rows)}")
    categories = [category for category in of["questions"]["1-10"] if category != "all"]
    rows = [[method, *(f"{scores['1-10'][category]['any@10']:.1f}; {scores['1-10'][category]['ndcg@10']:.1f}" for category in categories)] for method, scores in of["methods"].items()]
    parts.append("By category, any@10; ndcg@10:\n\n" + table(["", *(f"{category} ({of['questions']['1-10'][category]} questions)" for category in categories)], rows))
    drawn = ("any@10", "share@10", "ndcg@10", "mrr")
    others = {name: scores for name, scores in of["methods"].items() if "balance" not in name}  # the settings beside the default are in the table
    parts.append(draw("quality", plot.bars("Evidence found on LoCoMo", "%", drawn, {name: [(scores["1-10"]["all"][measure],) * 3 for measure in drawn] for name, scores in others.items()})))
    default = next(name for name in of["methods"] if name.startswith("70/30"))
    ahead = {measure: max(of["methods"], key=lambda name: of["methods"][name]["1-10"]["all"][measure]) for measure in measures}
    lost = [f"{measure} ({winner}: {best[measure]:.1f}; the product: {of['methods'][default]['1-10']['all'][measure]:.1f})" for measure, winner in ahead.items() if winner != default]
    parts.insert(1, "What the product answers is behind on " + ", ".join(lost) + "." if lost else "What the product answers is ahead on every measure.")
    return "\n\n".join(parts)


def ablation(figures):
    if not (of := figures.get("ablation")):
        return ""
    measures = ("any@1", "any@5", "any@10", "rec@10", "nDCG@10", "MRR")
    arms = {("all ingredients" if name == "all" else f"without {name.replace(',', ', ')}"): arms["as search answers"] for name, arms in of["arms"].items()}
    arms |= {name: of["arms"]["all"][name] for name in ("by words alone", "by meaning alone")}
    rows = [[name, *(f"{100 * scores[measure]:.1f}" for measure in measures)] for name, scores in arms.items()]
    questions = of["arms"]["all"]["as search answers"]["questions"]
    return (f"## What each ingredient is worth\n\n`keepsake eval` on LoCoMo's conversations 6–10: {of['items']:,} turns, {questions} questions, in percent. "
            f"bench/README.md has the other sets.\n\n{table(['', *measures], rows)}")


def languages(figures):
    if not (of := figures.get("languages")):
        return ""
    measures = ("any@1", "any@10", "nDCG@10")
    text = f"## Languages\n\nQuestions in ten languages about 60 notes in English (bench/data/across.jsonl), in percent.\n\n{table(['', *measures], [[language, *(scores[measure] for measure in measures)] for language, scores in of['across'].items()])}"
    if same := of.get("same"):
        rows = [[name, arm, *(scores[measure] for measure in measures)] for name, arms in same.items() for arm, scores in arms.items()]
        text += f"\n\nThe same content in two languages:\n\n{table(['', '', *measures], rows)}"
    return text


# Words and tables

def missing(name):
    return f"## {name}\n\nNot measured in this run."


def table(header, rows):
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [header, ["---"] * len(header), *rows])


def draw(name, svg):
    (FOLDER / f"{name}.svg").write_text(svg)
    return f"![{svg.split('<title>')[1].split('</title>')[0]}]({FOLDER.name}/{name}.svg)"


def low_high(figure):
    return figure["median"], figure["low"], figure["high"]


def share(turns, clients, door):
    return turns[clients][door]["per_second"]["median"] / turns[clients]["floor"]["per_second"]["median"]


def percent(share_of_one):
    return f"{100 * share_of_one:.0f} %"


if __name__ == "__main__":
    main()
