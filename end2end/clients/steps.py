"""What a model sends, and what Keepsake answers.

The words are those of Anthropic's page on the memory tool (`memory_20250818`); where it has none, Keepsake's own.
"""
from typing import NamedTuple

PAST = "It should be within the range of lines of the file: [0, 3]"
NUMBERED = "Here's the content of {} with line numbers:\n{}"


class Answer(NamedTuple):
    text: str
    is_refused: bool
    # Words of Keepsake's own, where Anthropic's page has none: part of the sentence.
    is_part: bool = False


def done(text):
    return Answer(text, False)


def refused(text):
    return Answer(text, True)


def refused_with(part):
    return Answer(part, True, True)


def view(path, view_range=None):
    return {"command": "view", "path": path, **({"view_range": view_range} if view_range else {})}


def create(path, file_text):
    return {"command": "create", "path": path, "file_text": file_text}


def replace(path, old_str, new_str):
    return {"command": "str_replace", "path": path, "old_str": old_str, "new_str": new_str}


def insert(path, insert_line, insert_text):
    return {"command": "insert", "path": path, "insert_line": insert_line, "insert_text": insert_text}


def delete(path):
    return {"command": "delete", "path": path}


def rename(old_path, new_path):
    return {"command": "rename", "old_path": old_path, "new_path": new_path}


def folder(path, *entries):
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    return done("\n".join([header, *(f"{size}\t{path}{name}" for size, name in entries)]))


def lines(first, *texts):
    return "\n".join(f"{number:>6}\t{text}" for number, text in enumerate(texts, first))


def file(path, first, *texts):
    return done(NUMBERED.format(path, lines(first, *texts)))


def created(path):
    return done(f"File created successfully at: {path}")


def edited(first, *texts):
    return done(f"The memory file has been edited.\n{lines(first, *texts)}")


def inserted(path):
    return done(f"The file {path} has been edited.")


def absent(path):
    return refused(f"Error: The path {path} does not exist")


def absent_for_replace(path):
    return refused(f"Error: The path {path} does not exist. Please provide a valid path.")


NOTES, LEAF, TEA = "/memories/notes.md", "/memories/projects/tea/deep/leaf.md", "/memories/Grüße/茶 🍵.md"

# (name, command, Keepsake's answer), one after the other in a memory that is empty at first.
STEPS = [
    ("empty root", view("/memories"), folder("/memories", ("0B", ""))),
    ("create", create(NOTES, "one\ntwo\nthree\n"), created(NOTES)),
    ("create twice", create(NOTES, "other"), refused(f"Error: File {NOTES} already exists")),
    ("view file", view(NOTES), file(NOTES, 1, "one", "two", "three", "")),
    ("view range", view(NOTES, [2, 3]), file(NOTES, 2, "two", "three")),
    ("view range to the end", view(NOTES, [3, -1]), file(NOTES, 3, "three", "")),
    ("view range past the end", view(NOTES, [3, 99]), file(NOTES, 3, "three", "")),
    ("view range outside", view(NOTES, [8, 9]), refused_with("`view_range`")),
    ("view missing", view("/memories/none.md"), refused("The path /memories/none.md does not exist. Please provide a valid path.")),
    ("create deep", create(LEAF, "leaf"), created(LEAF)),
    ("create plan", create("/memories/projects/plan.md", "x" * 1536), created("/memories/projects/plan.md")),
    ("create hidden", create("/memories/.hidden.md", "h"), created("/memories/.hidden.md")),
    ("create in node_modules", create("/memories/node_modules/x.md", "n"), created("/memories/node_modules/x.md")),
    ("view root", view("/memories"), folder("/memories", ("1.5K", ""), ("14B", "/notes.md"), ("1.5K", "/projects/"), ("1.5K", "/projects/plan.md"), ("4B", "/projects/tea/"))),
    ("view folder", view("/memories/projects"), folder("/memories/projects", ("1.5K", ""), ("1.5K", "/plan.md"), ("4B", "/tea/"), ("4B", "/tea/deep/"))),
    ("view folder with a slash", view("/memories/projects/"), folder("/memories/projects", ("1.5K", ""), ("1.5K", "/plan.md"), ("4B", "/tea/"), ("4B", "/tea/deep/"))),
    ("replace", replace(NOTES, "two", "2"), edited(1, "one", "2", "three", "")),
    ("replace by nothing", replace(NOTES, "three", ""), edited(1, "one", "2", "", "")),
    ("create verse", create("/memories/verse.md", "a\nb\nc\nd\ne\nf"), created("/memories/verse.md")),
    ("replace of lines", replace("/memories/verse.md", "d\ne", "D\nE"), edited(2, "b", "c", "D", "E", "f")),
    ("replace missing", replace(NOTES, "four", "4"), refused(f"No replacement was performed, old_str `four` did not appear verbatim in {NOTES}.")),
    ("create twins", create("/memories/twins.md", "a b\nc\na b\n"), created("/memories/twins.md")),
    ("replace twice", replace("/memories/twins.md", "a b", "d"), refused("No replacement was performed. Multiple occurrences of old_str `a b` in lines: 1, 3. Please ensure it is unique")),
    ("create twins in a line", create("/memories/line.md", "e e\n"), created("/memories/line.md")),
    ("replace twice in a line", replace("/memories/line.md", "e", "f"), refused("No replacement was performed. Multiple occurrences of old_str `e` in lines: 1, 1. Please ensure it is unique")),
    ("replace in missing", replace("/memories/none.md", "a", "b"), absent_for_replace("/memories/none.md")),
    ("replace in folder", replace("/memories/projects", "a", "b"), absent_for_replace("/memories/projects")),
    ("create lines", create("/memories/lines.md", "b\nd"), created("/memories/lines.md")),
    ("insert at 0", insert("/memories/lines.md", 0, "a"), inserted("/memories/lines.md")),
    ("insert in the middle", insert("/memories/lines.md", 2, "c\n"), inserted("/memories/lines.md")),
    ("view inserted", view("/memories/lines.md"), file("/memories/lines.md", 1, "a", "b", "c", "d")),
    ("insert past the end", insert("/memories/twins.md", 99, "e"), refused(f"Error: Invalid `insert_line` parameter: 99. {PAST}")),
    ("insert before the start", insert("/memories/twins.md", -1, "e"), refused(f"Error: Invalid `insert_line` parameter: -1. {PAST}")),
    ("insert at the end", insert("/memories/twins.md", 3, "e\n"), inserted("/memories/twins.md")),
    ("view inserted at the end", view("/memories/twins.md"), file("/memories/twins.md", 1, "a b", "c", "a b", "e", "")),
    ("insert in missing", insert("/memories/none.md", 0, "a"), absent("/memories/none.md")),
    ("insert in folder", insert("/memories/projects", 0, "a"), absent("/memories/projects")),
    ("rename onto existing", rename(NOTES, "/memories/lines.md"), refused("Error: The destination /memories/lines.md already exists")),
    ("rename onto folder", rename(NOTES, "/memories/projects"), refused("Error: The destination /memories/projects already exists")),
    ("rename missing", rename("/memories/none.md", "/memories/some.md"), absent("/memories/none.md")),
    ("rename root", rename("/memories", "/memories/x"), refused_with("The directory /memories itself is not renamed")),
    ("rename file", rename(NOTES, "/memories/old/notes.md"), done(f"Successfully renamed {NOTES} to /memories/old/notes.md")),
    ("rename folder", rename("/memories/projects", "/memories/work"), done("Successfully renamed /memories/projects to /memories/work")),
    ("view renamed", view("/memories/work/tea"), folder("/memories/work/tea", ("4B", ""), ("4B", "/deep/"), ("4B", "/deep/leaf.md"))),
    ("view renamed away", view(NOTES), refused(f"The path {NOTES} does not exist. Please provide a valid path.")),
    ("delete file", delete("/memories/old/notes.md"), done("Successfully deleted /memories/old/notes.md")),
    ("view emptied folder", view("/memories/old"), refused("The path /memories/old does not exist. Please provide a valid path.")),
    ("delete folder", delete("/memories/work"), done("Successfully deleted /memories/work")),
    ("view deleted", view("/memories/work/plan.md"), refused("The path /memories/work/plan.md does not exist. Please provide a valid path.")),
    ("delete missing", delete("/memories/work"), absent("/memories/work")),
    ("delete root", delete("/memories"), refused_with("The directory /memories itself is not deleted")),
    ("create UTF-8", create(TEA, "naïve — 日本語\n🍵 two\n"), created(TEA)),
    ("view UTF-8", view(TEA), file(TEA, 1, "naïve — 日本語", "🍵 two", "")),
    ("view UTF-8 folder", view("/memories/Grüße"), folder("/memories/Grüße", ("30B", ""), ("30B", "/茶 🍵.md"))),
    ("replace UTF-8", replace(TEA, "🍵", "☕"), edited(1, "naïve — 日本語", "☕ two", "")),
    ("create CRLF", create("/memories/crlf.md", "a\r\nb\r\n"), created("/memories/crlf.md")),
    ("view CRLF", view("/memories/crlf.md"), file("/memories/crlf.md", 1, "a", "b", "")),
    ("create empty", create("/memories/empty.md", ""), created("/memories/empty.md")),
    ("view empty", view("/memories/empty.md"), file("/memories/empty.md", 1, "")),
    ("view outside", view("/etc/passwd"), refused_with("`path` is not below /memories")),
    ("view beside", view("/memoriesx/a.md"), refused_with("`path` is not below /memories")),
    ("view above", view("/memories/../x"), refused_with("`path` has a name that is empty or of dots alone")),
    ("create above", create("/memories/a/../../x.md", "x"), refused_with("`path` has a name that is empty or of dots alone")),
    ("rename above", rename("/memories/lines.md", "/memories/../x.md"), refused_with("`new_path` has a name that is empty or of dots alone")),
    ("create encoded", create("/memories/%2e%2e%2fx.md", "x"), refused_with("`path` has a percent sign that stands for another character")),
    ("create backslash", create("/memories/..\\x.md", "x"), refused_with("`path` has a slash that is none")),
]
