"""Where the SDKs' own file tools answer otherwise than Keepsake, which keeps to Anthropic's page on the memory tool."""
import re
from typing import Callable, NamedTuple

from steps import NOTES, done, edited, folder, refused

PYTHON, TYPESCRIPT = ("python",), ("typescript",)
BOTH = PYTHON + TYPESCRIPT
FOLDERS = ("empty root", "view root", "view folder", "view folder with a slash", "view renamed", "view emptied folder", "view UTF-8 folder")
IN_FOLDER = ("replace in folder", "insert in folder")
PAST_END = ("insert past the end", "insert before the start")


def words(change):
    return lambda ours, _: ours._replace(text=change(ours.text))


def instead(pattern, replacement):
    return words(lambda text: re.sub(pattern, replacement, text))


def another(answer):
    return lambda *_: answer


def matching(answer):
    """Another answer, of which the text is a pattern."""
    is_one = lambda theirs: re.fullmatch(answer.text, theirs.text) and answer.is_refused == theirs.is_refused
    return lambda ours, theirs: theirs if is_one(theirs) else ours


def with_folder_sizes(ours, theirs):
    """Of the folder itself, which is the first after the header, and of those inside, which end in a slash."""
    sizes = dict(line.split("\t")[::-1] for line in theirs.text.split("\n")[1:])
    header, *lines = ours.text.split("\n")
    paths = [line.split("\t")[1] for line in lines]
    lines = [f"{sizes.get(path)}\t{path}" if path in paths[:1] or path.endswith("/") else line for path, line in zip(paths, lines)]
    return ours._replace(text="\n".join([header, *lines]))


def with_slashes(text):
    return text.replace("/projects/", "/projects//").replace("/projects,", "/projects/,").replace("/projects\n", "/projects/\n")


class Difference(NamedTuple):
    sdks: tuple[str, ...]
    steps: tuple[str, ...]
    # Keepsake's answer and the SDK's -> the SDK's, as far as this difference goes. Those of a step apply in this order.
    change: Callable
    reason: str


DIFFERENCES = [Difference(*row) for row in (
    # Listings
    (BOTH, ("view emptied folder",), another(folder("/memories/old", ("0B", ""))), "A folder is there as long as a file is in it; a file system keeps an empty one."),
    (PYTHON, FOLDERS, words(lambda text: text.replace(" and node_modules", "")), "The header is the page's, and the TypeScript SDK's."),
    (PYTHON, ("view root",), instead("(\t/memories\n)", r"\1?\t/memories/node_modules/\n1B\t/memories/node_modules/x.md\n"), "node_modules is left out, as the header says."),
    (BOTH, ("view folder with a slash",), words(with_slashes), "The slash at the end of a path is left out, so that the paths listed are right."),
    (BOTH, FOLDERS, with_folder_sizes, "A folder is as large as the files in it; the SDKs give the size of its entry in the file system."),
    # Texts
    (BOTH, ("replace", "replace by nothing", "replace of lines", "replace UTF-8"), words(lambda text: text.replace("edited.", "edited. Here is the snippet showing the change (with line numbers):")), "The page has the shorter sentence."),
    (BOTH, ("view range outside",), another(done(f"Here's the content of {NOTES} with line numbers:\n")), "A range outside the file is refused, and the refusal says how many lines there are."),
    (TYPESCRIPT, ("replace of lines",), another(refused("Error: No replacement was performed, old_str `d\ne` did not appear verbatim in /memories/verse.md.")), "The TypeScript SDK looks at each line alone."),
    (TYPESCRIPT, ("replace twice in a line",), another(edited(1, "f e", "")), "So it does not see the second."),
    (TYPESCRIPT, ("replace twice in a line",), instead("edited[.]", "edited. Here is the snippet showing the change (with line numbers):"), "The page has the shorter sentence."),
    (PYTHON, ("view inserted",), words(lambda text: text + "\n     5\t"), "The last line gets a newline only where something is inserted behind it, as with the TypeScript SDK."),
    (BOTH, ("view CRLF",), instead("(\t[ab])", r"\1\r"), "Lines are shown without their ends."),
    (TYPESCRIPT, PAST_END, instead("3]$", "4]"), "The TypeScript SDK counts what is after the last newline as a line."),
    (PYTHON, PAST_END, instead("range of .*", "range [0, 3]."), "The words are the page's."),
    # Words of refusals
    (BOTH, IN_FOLDER, instead("does not exist.*", "is not a file."), "The page: a directory is answered as what does not exist."),
    (BOTH, ("insert in missing",), instead("$", ". Please provide a valid path."), "The words are the page's."),
    (BOTH, ("delete root",), another(refused("Cannot delete the /memories directory itself")), "The page has no words for it."),
    (BOTH, ("rename root",), another(refused("Cannot rename the /memories directory itself")), "The page has no words for it."),
    (PYTHON, ("create twice", "replace in missing", *IN_FOLDER, *PAST_END, "insert in missing", "rename onto existing", "rename onto folder", "rename missing", "delete missing"), words(lambda text: text.removeprefix("Error: ")), "These begin with `Error: ` on the page."),
    # Paths
    (BOTH, ("view outside",), another(refused("Path must start with /memories, got: /etc/passwd")), "The page has no words for it; what was sent is not repeated."),
    (BOTH, ("view beside",), another(refused("The path /memoriesx/a.md does not exist. Please provide a valid path.")), "The SDKs read `/memoriesx` as `/memories/x`."),
    (BOTH, ("view above", "create above", "rename above"), matching(refused(r"(Error: )?Path \S+ would escape /memories directory")), "The page has no words for it."),
    (BOTH, ("create encoded", "create backslash"), matching(done(r"File created successfully at: \S+")), "The page has them refused: they are other paths where they are decoded."),
    (TYPESCRIPT, ("view missing", "view renamed away", "view deleted", "replace missing", "replace twice", "delete root", "rename root", "view outside", "view beside"), words(lambda text: f"Error: {text}"), "The TypeScript SDK puts `Error: ` before whatever its file tool throws; these do not have it on the page."),
)]
