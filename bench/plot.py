"""Plots as SVG of our own few lines: no library, no script, readable in light and dark. Series differ in shape
as well as in colour."""
import math
from html import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 86, 52
TICKS_MAX = 6
COLOURS = (("#0b62a8", "#6cb6ff"), ("#b8450b", "#f0a35e"), ("#11795a", "#5fcfa8"), ("#8a3f8f", "#dd9be2"), ("#5b6470", "#a9b3bf"))
STYLE = ("text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}.back{fill:#fff}.grid{stroke:#d8dee4}.axis{stroke:#6e7781}"
         + "".join(f".c{n}{{fill:{light};stroke:{light}}}" for n, (light, _) in enumerate(COLOURS))
         + ".line{fill:none;stroke-width:2}.whisker{stroke-width:1.5;opacity:.6}.bar{stroke:none}"
         + "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}.grid{stroke:#30363d}.axis{stroke:#8b949e}"
         + "".join(f".c{n}{{fill:{dark};stroke:{dark}}}" for n, (_, dark) in enumerate(COLOURS)) + ".line{fill:none}.bar{stroke:none}}")


def lines(title, x_label, y_label, series):
    """`series` is {name: [(x, y, low, high)]}; both axes are logarithmic."""
    points = [point for of in series.values() for point in of]
    x_at = log_scale(sorted({point[0] for point in points}), LEFT + 16, WIDTH - RIGHT - 16)
    y_at = log_scale([low for _, _, low, _ in points] + [high for *_, high in points], HEIGHT - BOTTOM - 8, TOP + 8)
    parts = [horizontal(y_at(tick), number(tick)) for tick in ticks(min(low for _, _, low, _ in points), max(high for *_, high in points))]
    parts += [text(x_at(x), HEIGHT - BOTTOM + 20, number(x), "middle") for x in sorted({point[0] for point in points})]
    for n, of in enumerate(series.values()):
        parts.append(f'<path class="c{n} line" d="M{" L".join(f"{x_at(x):.1f} {y_at(y):.1f}" for x, y, *_ in of)}"/>')
        for x, y, low, high in of:
            parts.append(f'<path class="c{n} whisker" d="M{x_at(x):.1f} {y_at(low):.1f}V{y_at(high):.1f}"/>' + mark(n, x_at(x), y_at(y)))
    return page(title, x_label, y_label, list(series), parts)


def bars(title, y_label, groups, series, digits=0):
    """`series` is {name: [(value, low, high), one a group]}; the axis begins at 0."""
    top = max(high for of in series.values() for *_, high in of) * 1.12
    y_at = lambda value: HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top
    step = next(digit * 10.0 ** power for power in range(-3, 9) for digit in (1, 2, 5) if top / (digit * 10.0 ** power) <= TICKS_MAX)
    parts = [horizontal(y_at(n * step), number(n * step)) for n in range(int(top / step) + 1)]
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = min(44, room * 0.86 / len(series))
    for g, group in enumerate(groups):
        middle = LEFT + room * (g + 0.5)
        parts.append(text(middle, HEIGHT - BOTTOM + 20, group, "middle"))
        for n, of in enumerate(series.values()):
            value, low, high = of[g]
            x = middle + (n - len(series) / 2) * width
            parts.append(f'<rect class="c{n} bar" x="{x + 2:.1f}" y="{y_at(value):.1f}" width="{width - 4:.1f}" height="{HEIGHT - BOTTOM - y_at(value):.1f}"/>')
            if high > low:
                parts.append(f'<path class="axis" d="M{x + width / 2:.1f} {y_at(low):.1f}V{y_at(high):.1f}"/>')
            parts.append(text(x + width / 2, y_at(high) - 5, f"{value:,.{digits}f}", "middle", size=11))
    return page(title, "", y_label, list(series), parts)


def page(title, x_label, y_label, names, parts):
    legend, x, y = [], LEFT, 48
    for n, name in enumerate(names):
        room = 34 + 7.2 * len(name)
        if x + room > WIDTH - RIGHT:
            x, y = LEFT, y + 20
        legend.append(mark(n, x + 6, y - 4) + text(x + 18, y, name))
        x += room
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img"><title>{escape(title)}</title>'
            f'<style>{STYLE}</style><rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
            f'<text class="title" x="16" y="24">{escape(title)}</text>{"".join(legend)}{"".join(parts)}'
            f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>{text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, "middle")}'
            f'<text x="{WIDTH - RIGHT}" y="24" text-anchor="end">{escape(y_label)}</text></svg>\n')


def mark(n, x, y):
    """A circle, a square, a triangle, a diamond, a triangle on its head."""
    if n == 0:
        return f'<circle class="c{n}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
    shape = ("m-4 -4h8v8h-8z", "m0 -5.5l5 9h-10z", "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z", "m0 5.5l5 -9h-10z")[n - 1]
    return f'<path class="c{n}" d="M{x:.1f} {y:.1f}{shape}"/>'


def horizontal(y, label):
    return f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>{text(LEFT - 8, y + 4, label, "end")}'


def text(x, y, said, anchor="start", size=13):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="font-size:{size}px">{escape(said)}</text>'


def log_scale(values, begin, end):
    low, high = math.log(min(values)), math.log(max(values))
    return lambda value: begin + (end - begin) * ((math.log(value) - low) / (high - low) if high > low else 0.5)


def ticks(low, high):
    """1, 2, 5, 10 … as far as they lie between, and at least two."""
    some = [digit * 10.0 ** power for power in range(-3, 9) for digit in (1, 2, 5)]
    within = [tick for tick in some if low <= tick <= high]
    return within if len(within) > 1 else [low, high]


def number(value):
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:.3g}"
